#include "engine/policy/greedy_teacher.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace neuroshard {
namespace {

class GreedyRun final : public search::PolicyRun {
 public:
  explicit GreedyRun(float dims_weight) : dims_weight_(dims_weight) {}

  void learn(std::span<const search::ShapeId>, std::span<const ShardShape>) override {}
  [[nodiscard]] std::size_t state_size() const override { return 0; }
  void clear(float*) const override {}
  void place(search::ShapeId, float*) const override {}
  void scores(search::ShapeId, const search::Standing& standing, std::span<const float>,
              std::span<float>, std::span<float> scores, search::Scratch&) const override {
    const float unit = standing.balanced_ms > 0 ? standing.balanced_ms : 1.0f;
    const float mean_dims = standing.mean_dims > 0 ? standing.mean_dims : 1.0f;  // none may travel
    for (std::size_t d = 0; d < scores.size(); ++d) {
      const auto dims = static_cast<float>(standing.dims[d] + standing.piece_dims);
      const float load = standing.cost_after_ms[d] / unit + dims_weight_ * dims / mean_dims;
      scores[d] = std::isfinite(load) ? -load : std::numeric_limits<float>::lowest();
    }
  }

 private:
  float dims_weight_;
};

}  // namespace

std::unique_ptr<search::PolicyRun> GreedyTeacher::begin(const Workload&) const {
  return std::make_unique<GreedyRun>(dims_weight_);
}

}  // namespace neuroshard
