#include "engine/ground_truth/sim/sim_ground_truth.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/ground_truth/requests/request.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/compute_model.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard {
namespace {

std::int64_t memory_of(const HardwareProfile& profile) {
  return static_cast<std::int64_t>(profile.memory_gib.value * 0x1p30);
}

class SimGroundTruth final : public GroundTruth {
 public:
  explicit SimGroundTruth(ChosenProfile chosen)
      : chosen_(std::move(chosen)),
        name_(chosen_.profile.name + "+" + chosen_.interconnect.name),
        hardware_(describe(chosen_)) {}

  [[nodiscard]] io::Backend backend() const override { return io::Backend::kSim; }
  [[nodiscard]] const std::string& hardware() const override { return hardware_; }
  [[nodiscard]] const std::string& profile() const override { return name_; }

  [[nodiscard]] bool knows_all_lookups() const override { return true; }

  [[nodiscard]] std::map<std::string, std::string> settings() const override {
    if (chosen_.sha256.empty()) return {};
    return {{"profile-sha256", chosen_.sha256}};
  }

  Result<ComputeTime> measure_compute(const Workload& workload,
                                      std::span<const Shard> shards) override {
    NEUROSHARD_RETURN_IF_ERROR(
        check_shards(workload, shards, memory_of(chosen_.profile), check_has_optimizer));
    return simulate_compute(chosen_.profile, workload, shards);
  }

  Result<CommTime> measure_all_to_all(std::span<const std::int64_t> dims,
                                      std::span<const double> starts_ms,
                                      std::int64_t batch_size) override {
    NEUROSHARD_RETURN_IF_ERROR(check_exchange(dims, starts_ms, batch_size));
    const ExchangeValues values{{dims.begin(), dims.end()}, std::vector<double>(dims.size(), 0.0)};
    return simulate_exchange(chosen_.profile, chosen_.interconnect, values, starts_ms, batch_size);
  }

 private:
  ChosenProfile chosen_;
  std::string name_;
  std::string hardware_;
};

}  // namespace

Result<std::unique_ptr<GroundTruth>> make_sim_ground_truth(const GroundTruthOptions& options) {
  NEUROSHARD_ASSIGN_OR_RETURN(ChosenProfile chosen, choose_profile(options.profile));
  if (const std::int64_t memory = memory_of(chosen.profile); options.max_memory_bytes > memory) {
    return invalid_input("max-memory: found " + format_bytes(options.max_memory_bytes) +
                         ", expected at most the " + format_bytes(memory) + " of " +
                         chosen.profile.name);
  }
  return std::unique_ptr<GroundTruth>(std::make_unique<SimGroundTruth>(std::move(chosen)));
}

}  // namespace neuroshard
