#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "search/local/local_plan.h"
#include "search/local/shape_catalog.h"
#include "search/refine/divider.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// A plan found in little time.
struct FastPlan {
  Assignment pieces;
  double cost = 0;  ///< by plan_details(): rounding apart, what plan_cost() says
  std::int64_t evaluations = 0;
  bool finer = false;  ///< than load asks for: memory is tight, and fewer, larger pieces may do
};

/// A good plan within a millisecond or two for a hundred tables: tables are divided until no piece
/// is heavier than some multiple of the balanced load (what a device would have if all had the
/// same), for several multiples, placed by LoadPlacer; then those that decide the cost are halved
/// as long as it falls; then the best plan descends (see Descent). Does the same work whatever the
/// time, and ends early only when `stop` says so or after `budget` plans (but for a few of its
/// first), with its best plan so far. Nothing when memory is too tight for placing by load.
/// `divisions`: one a table, which the catalog has to have; or empty, and all go by columns.
/// `rows_on_one_host`: see LoadPlacer.
std::optional<FastPlan> fast_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                  const ShapeCatalog& catalog, const StopCheck& stop,
                                  std::span<const Division> divisions = {},
                                  std::int64_t budget = kNoBudget, bool rows_on_one_host = false);

/// `start`, a plan within the memory limit, after the descent that ends a fast plan.
FastPlan descend(const Problem& problem, const PlanEvaluator& evaluator,
                 const ShapeCatalog& catalog, const StopCheck& stop, const Assignment& start,
                 std::int64_t budget = kNoBudget);

/// The cheaper of two plans of the pieces of `start`, a plan within the memory limit: as they are,
/// or placed anew by load, with those halved that decide the cost; each after that descent.
FastPlan go_on_from(const Problem& problem, const PlanEvaluator& evaluator,
                    const ShapeCatalog& catalog, const StopCheck& stop, const Assignment& start);

}  // namespace neuroshard::search
