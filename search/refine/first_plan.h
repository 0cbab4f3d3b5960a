#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include "search/refine/start_plan.h"

namespace neuroshard::search {

/// Of a first plan.
inline constexpr std::size_t kMostRivals = 2;

struct FirstPlan {
  StartPlan plan;
  std::string_view skipped;  ///< what there was no time for, in words; lives as long as the program
  double seconds = 0;        ///< that all its plans took
  std::vector<Plan> rivals{};  ///< costlier starts, from which walks may yet end below
  /// Costlier starts that are quite other ones: with blocks over hosts, or without any, with the
  /// rows of a table on one host, or with other tables in blocks. Short walks tell which of all to
  /// go on from.
  std::vector<Plan> others{};
};

/// What refine begins with: fast_plan(), in less than half of the time where that is long, or what
/// fast_row_plan(), fast_host_plan(), fast_gathered_plan(), packed_plan(), plans_in_block_sets(),
/// best_start() or width_groups() find if that is cheaper, as far as there is time for them; the
/// baselines run in any case where tables and devices are few. options.time_limit_s counts from
/// `began`. Errors: best_start()'s.
Result<FirstPlan> first_plan(const Problem& problem, PlanEvaluator& evaluator,
                             const ShapeCatalog& catalog, const SearchOptions& options,
                             std::chrono::steady_clock::time_point began);

}  // namespace neuroshard::search
