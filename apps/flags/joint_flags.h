#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/flags/flags.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/ground_truth/joint_policy.h"
#include "engine/policy/policy_checkpoint_parts.h"

namespace neuroshard::apps {

/// --joint and what measures plans for it.
class JointFlags {
 public:
  void declare(FlagSet& flags);

  /// Where the cost networks go; nothing: a cost model is given instead.
  [[nodiscard]] const std::optional<std::string>& output() const { return output_; }
  [[nodiscard]] std::int32_t plans() const { return plans_; }

  /// Errors: flags of these without --joint, --joint with what it takes the place of, a backend
  /// without its profile.
  [[nodiscard]] Status check(const FlagSet& flags) const;
  /// What measures plans whose devices have so much memory. Errors: as make_ground_truth().
  [[nodiscard]] Result<std::unique_ptr<GroundTruth>> ground_truth(std::int64_t memory_bytes,
                                                                  int threads,
                                                                  std::uint64_t seed) const;
  /// What a training depends on that `truth` measures plans for, as its checkpoint says it.
  [[nodiscard]] PolicySettings settings(const GroundTruth& truth) const;

 private:
  std::optional<std::string> output_;
  std::string backend_ = "sim";
  std::optional<std::string> profile_;
  int runs_ = 10;
  std::int32_t plans_ = kLeastJointPlans;
};

}  // namespace neuroshard::apps
