#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "engine/core/progress.h"
#include "engine/ground_truth/make_ground_truth.h"
#include "tests/policy/small_policies.h"

namespace neuroshard::test {

/// The simulated H100, which counts how often it is asked and cancels after some lookups.
class CountedTruth final : public GroundTruth {
 public:
  explicit CountedTruth(CancelToken* token = nullptr, int until = 0)
      : token_(token), until_(until) {
    GroundTruthOptions options;
    options.profile = "H100-80G";
    options.max_memory_bytes = few_tables().memory_bytes;
    truth_ = make_ground_truth(io::Backend::kSim, options).value();
  }
  [[nodiscard]] io::Backend backend() const override { return truth_->backend(); }
  [[nodiscard]] const std::string& hardware() const override { return truth_->hardware(); }
  [[nodiscard]] const std::string& profile() const override { return truth_->profile(); }
  Result<ComputeTime> measure_compute(const Workload& workload,
                                      std::span<const Shard> shards) override {
    if (++lookups == until_) token_->cancel();
    return truth_->measure_compute(workload, shards);
  }
  Result<CommTime> measure_all_to_all(std::span<const std::int64_t> dims,
                                      std::span<const double> starts_ms,
                                      std::int64_t batch_size) override {
    ++exchanges;
    return truth_->measure_all_to_all(dims, starts_ms, batch_size);
  }

  int lookups = 0;
  int exchanges = 0;

 private:
  std::unique_ptr<GroundTruth> truth_;
  CancelToken* token_;
  int until_;
};

/// Tables to train on a policy together with its cost networks.
inline const Workload& joint_pool() {
  static const Workload tables = generated_pool(60, 1);
  return tables;
}

/// How these are trained.
inline PolicyTrainOptions joint_options() {
  PolicyTrainOptions options = short_training();
  options.tasks.devices = {2, 3};
  options.updates = 100;
  return options;
}

}  // namespace neuroshard::test
