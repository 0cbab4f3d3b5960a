#include "search/policy/device_chooser.h"

#include <cstddef>
#include <vector>

namespace neuroshard::search {
namespace {

class ScoredChooser final : public DeviceChooser {
 public:
  ScoredChooser(const PolicyRun& run, std::int32_t devices)
      : run_(run), scores_(static_cast<std::size_t>(devices)) {}

  void reset() override {}
  std::int32_t best(const Offer& offer, std::span<float> memory) override {
    run_.scores(offer.shape, offer.standing, offer.states, memory, scores_, scratch_);
    return best_device(scores_, offer.allowed);
  }

 private:
  const PolicyRun& run_;
  std::vector<float> scores_;
  Scratch scratch_;
};

}  // namespace

std::int32_t best_device(std::span<const float> scores, std::span<const unsigned char> allowed) {
  std::int32_t best = -1;
  for (std::size_t device = 0; device < scores.size(); ++device) {
    if (allowed[device] == 0) continue;
    if (best >= 0 && scores[device] <= scores[static_cast<std::size_t>(best)]) continue;
    best = static_cast<std::int32_t>(device);
  }
  return best;
}

std::unique_ptr<DeviceChooser> choose_by_scores(const PolicyRun& run, std::int32_t devices) {
  return std::make_unique<ScoredChooser>(run, devices);
}

std::unique_ptr<DeviceChooser> PolicyRun::chooser(std::int32_t devices) const {
  return choose_by_scores(*this, devices);
}

}  // namespace neuroshard::search
