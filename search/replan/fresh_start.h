#pragma once

#include <cstdint>
#include <optional>

#include "search/replan/cell_plan.h"
#include "search/replan/running_plan.h"

namespace neuroshard::search {

/// A plan from nothing, as far as the limit lets it be: where walks from the plan that runs would
/// come to over dearer ones alone. `refine` makes it within `options`, as if tables that have to
/// stay as they are had one row, in the memory that these leave on the fullest device;
/// brought_near() and partial_plan() make it one that may be. Adds the plans that they put a cost
/// on to `evaluations`. Nothing where there is none.
std::optional<CellPlan> fresh_start(const RunningPlan& now, const SearchOptions& options,
                                    std::int64_t& evaluations);

}  // namespace neuroshard::search
