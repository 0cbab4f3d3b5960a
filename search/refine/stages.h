#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/problem.h"
#include "search/refine/start_plan.h"

// A search with a budget of evaluations goes through stages that end where they end for every
// budget. Each takes more for its first plans than the one before, and goes on from the best plan
// so far. What is left then, less than a stage or beyond the last one, is for walks alone. So a
// larger budget does all that a smaller one does, and more, up to the end of a stage.

namespace neuroshard::search {

struct Stage {
  SearchOptions limits;  ///< evaluations: from the beginning of the search to the end of the stage
  SearchOptions first;   ///< those of its first plans
  std::int64_t end = 0;  ///< where it would end, had the search more evaluations; 0: no limit
  std::int64_t all = 0;  ///< evaluations of the search
  bool no_first_plans = false;  ///< of its own, where earlier stages have a plan
  /// The best plan of earlier stages, or of what the search began with, and the evaluations of all
  /// of them; null: there is none.
  const StartPlan* earlier = nullptr;
  std::vector<Plan> rivals{};  ///< costlier ones from which walks go on, too

  [[nodiscard]] bool last() const { return limits.evaluations == all; }
  [[nodiscard]] std::int64_t so_far() const {
    return earlier == nullptr ? 0 : earlier->evaluations;
  }

  [[nodiscard]] bool walks_only() const { return no_first_plans && earlier != nullptr; }

  /// Has it begin with the best plan so far, which outlives it, after that stage.
  void go_on_from(const StartPlan& best, const Stage& before);
};

/// Of a search of so many tables on so many devices. One that time paces has the same stages in a
/// part of its time, and is one more; where there are very many of either it is that alone.
std::vector<Stage> stages_of(const SearchOptions& options, std::size_t tables,
                             std::int32_t devices);

}  // namespace neuroshard::search
