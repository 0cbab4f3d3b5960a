#pragma once

#include <memory>

#include "engine/policy/policy_model.h"
#include "search/policy/placement_policy.h"

namespace neuroshard {

/// A trained network as searches see it. Const access is thread-safe.
class NetworkPolicy final : public search::PlacementPolicy {
 public:
  /// REQUIRES validate(model).ok(); the model must outlive this.
  explicit NetworkPolicy(const PolicyModel& model) : model_(model) {}

  [[nodiscard]] std::unique_ptr<search::PolicyRun> begin(const Workload& workload) const override;

 private:
  const PolicyModel& model_;
};

/// The features of shapes, standardised: [shapes, features].
void write_policy_features(const PolicyModel& model, const Workload& workload,
                           std::span<const ShardShape> shapes, std::span<float> out);

}  // namespace neuroshard
