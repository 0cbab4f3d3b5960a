#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/flags/flags.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/plan_options.h"
#include "engine/policy/network_policy.h"

namespace neuroshard::apps {

/// --policy and --samples of searches that algorithms of policies may be among.
class PolicyFlags {
 public:
  void declare(FlagSet& flags);

  /// Reads the policy where one of the algorithms goes by it, and has `options` search by it; this
  /// must outlive them. A remark where a flag changes nothing. Errors: an algorithm that needs one
  /// without --policy; what is wrong with the file, or that it is of another kind than the
  /// algorithm.
  Status apply(const FlagSet& flags, std::span<const std::string> algorithms, PlanOptions* options);

  /// Remarks where the policy was trained by other cost models, or on other numbers of devices or
  /// tables. Nothing without a policy.
  void note_other_training(const NamedCostModels& models, std::int32_t devices,
                           std::int64_t least_tables, std::int64_t most_tables) const;

 private:
  std::optional<std::string> path_;
  std::int64_t samples_ = 0;
  std::optional<PolicyModel> model_;
  std::unique_ptr<NetworkPolicy> policy_;
};

/// The same remarks of a policy called `name`.
void note_policy_training(const PolicyModel& policy, const std::string& name,
                          const NamedCostModels& models, std::int32_t devices,
                          std::int64_t least_tables, std::int64_t most_tables);

/// --task-tables, the least and the most tables of a task; `otherwise` is what holds without it.
void declare_task_tables(FlagSet& flags, std::vector<std::int32_t>* out,
                         const std::string& otherwise);
/// Both, where the flag is given; else they stay. Errors: not two, or not ascending.
Status set_task_tables(const std::vector<std::int32_t>& given, std::int32_t* least,
                       std::int32_t* most);

/// Most plans that --samples draws.
inline constexpr std::int64_t kMostSamples = 1'000'000;

}  // namespace neuroshard::apps
