#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard {

/// The algorithm used unless another is asked for.
std::string_view default_algorithm();

/// The algorithms by name, weakest first, with one line on each and what they go by; those that run
/// only when asked for come last.
struct AlgorithmInfo {
  std::string_view name;
  std::string_view summary;
  bool heeds_evaluations;  ///< PlanOptions::evaluations changes what it does
  bool makes_row_shards;   ///< PlanOptions::row_splits does
  bool holds_hot_rows;     ///< PlanOptions::hot_rows does
  bool heeds_policy;       ///< PlanOptions::policy does
};
std::span<const AlgorithmInfo> algorithms();
std::vector<std::string> algorithm_names();
/// Those that need a trained policy (PlanOptions::policy), which are not among the others.
std::vector<std::string> policy_algorithm_names();
/// Both.
std::vector<std::string> all_algorithm_names();
/// Those of both that go by a policy where there is one.
std::vector<std::string> policy_heeding_names();
/// Those that end by themselves and soon, weakest first: what other plans are held against.
std::vector<std::string> baseline_names();
/// Seconds that one of those has where it runs beside another search.
inline constexpr double kBaselineSeconds = 1;

}  // namespace neuroshard
