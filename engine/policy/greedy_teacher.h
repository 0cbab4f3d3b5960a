#pragma once

#include <memory>

#include "search/policy/placement_policy.h"

namespace neuroshard {

/// A rule in the place of a trained policy: the device whose cost with the piece, over the balanced
/// load, and `dims_weight` times its dims, over those of the mean, are least together. What a
/// network learns from first, and what it is held against.
class GreedyTeacher final : public search::PlacementPolicy {
 public:
  explicit GreedyTeacher(float dims_weight) : dims_weight_(dims_weight) {}

  [[nodiscard]] std::unique_ptr<search::PolicyRun> begin(const Workload& workload) const override;

 private:
  float dims_weight_;
};

}  // namespace neuroshard
