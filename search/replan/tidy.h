#pragma once

#include <cstdint>
#include <functional>

#include "search/replan/cell_plan.h"
#include "search/replan/running_plan.h"

namespace neuroshard::search {

/// Sends pieces that move back to the device that holds most of their cells, those with the most
/// bytes to bring first, and joins neighbours that are all a device has of a table, each where the
/// plan gets no dearer by it: walks move what does not help, as long as the limit lets them. Adds
/// the plans that it puts a cost on to `evaluations`; what was done so far when `stop` says so.
CellPlan tidy(const CellPlan& start, const RunningPlan& now, std::int64_t& evaluations,
              const std::function<bool()>& stop);

}  // namespace neuroshard::search
