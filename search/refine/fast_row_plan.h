#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/refine/fast_plan.h"

namespace neuroshard::search {

/// Tables whose even blocks cost less together than the table whole: in blocks they take load off
/// all devices, whatever the rest does. Dearest first. Fused costs seldom have any.
std::vector<std::int32_t> tables_cheaper_in_blocks(std::int32_t devices,
                                                   const PlanEvaluator& evaluator,
                                                   const ShapeCatalog& catalog);

/// Divisions of all tables of a catalog: these that way, the others by columns.
std::vector<Division> divisions_of(const ShapeCatalog& catalog,
                                   std::span<const std::int32_t> tables, Division division);

/// The cheapest of fast plans with tables by rows, which place all the rest anew: with the dearest
/// table over all devices in even blocks, the two dearest, and so on, until some in a row are no
/// cheaper (half as many more at a time while none fits); before that, where there are
/// tables_cheaper_in_blocks(), with those and the dearest others; and where the catalog has halves
/// of rows, first of all with all tables by halves, and with the dearest, the two dearest, .. by
/// halves. The dearer a table, the more the device decides the cost that has to hold it, or a
/// column of it, by itself. Ends when `stop` says so, or after `most_evaluations` (0: no limit).
/// Nothing where the catalog has no rows, or no plan fits.
std::optional<FastPlan> fast_row_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                      const ShapeCatalog& catalog, const StopCheck& stop,
                                      std::int64_t most_evaluations);

}  // namespace neuroshard::search
