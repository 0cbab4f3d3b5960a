#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/refine/fast_plan.h"

namespace neuroshard::search {

/// Divisions of all tables of a catalog: these that way, the others by columns.
std::vector<Division> divisions_of(const ShapeCatalog& catalog,
                                   std::span<const std::int32_t> tables, Division division);

/// A fast plan and how it divides each table.
struct DividedPlan {
  FastPlan plan;
  std::vector<Division> divisions;
};

/// The fast plan; where costs add up, with tables in the divisions that cost the devices least.
/// Ends when `stop` says so, or after `budget` plans. Nothing where no plan fits.
std::optional<DividedPlan> plan_by_load(const Problem& problem, const PlanEvaluator& evaluator,
                                        const ShapeCatalog& catalog, const StopCheck& stop,
                                        std::int64_t budget = kNoBudget);

/// The cheapest of fast plans with tables in other divisions than columns, which place all the rest
/// anew. Where the catalog has halves of rows, first of all with all tables by halves, and with the
/// costliest, the two costliest, .. by halves; where costs add up, with the cheapest_divisions()
/// for several heaviest pieces; then with the costliest table over all devices in even blocks, the
/// two costliest, and so on, until some in a row are no cheaper (half as many more at a time while
/// none fits), and where memory is short the same with the largest tables. Where costs do not add
/// up, then with the tables worth_replicating(). The costlier a table, the more the device decides
/// the cost that has to hold it, or a column of it, by itself. At last, where costs add up, with
/// one table after the other in another division than the best of these plans or `first` has, or
/// two of few, as long as that is cheaper. Ends when `stop` says so, or after `budget` plans.
/// Nothing where the catalog has no such divisions, or no plan fits.
std::optional<FastPlan> fast_row_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                      const ShapeCatalog& catalog, const StopCheck& stop,
                                      std::int64_t budget = kNoBudget,
                                      const std::optional<DividedPlan>& first = {});

/// The cheapest of fast plans with tables in columns whose rows are in even blocks over the devices
/// of a host: all tables, and the costliest, the two costliest, .., and then the same with the
/// tables worth_replicating(). Hosts add up what they have of a table, so that blocks exchange as
/// little as narrow columns and take less time to look up. Nothing where no plan fits. REQUIRES a
/// catalog with such blocks and costs that do not add up: where they do, fast_row_plan() has them.
std::optional<FastPlan> fast_host_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                       const ShapeCatalog& catalog, const StopCheck& stop,
                                       std::int64_t budget);

/// The cheapest of fast plans with each table's halves of rows on one host, or few: all tables, and
/// the costliest, the two costliest, .., and then the same with the tables worth_replicating().
/// Less is added up than where halves go to any devices, but each host has to have the room.
/// Nothing where no plan fits. REQUIRES a catalog with halves of rows and costs that do not add up.
std::optional<FastPlan> fast_gathered_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                           const ShapeCatalog& catalog, const StopCheck& stop,
                                           std::int64_t budget);

}  // namespace neuroshard::search
