#pragma once

#include "engine/core/status.h"
#include "search/feasibility.h"
#include "search/problem.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Why no plan fits, with a memory per device for which packing finds one; `otherwise` when it
/// finds none before `stop`.
Status what_would_do(const Problem& problem, const RowShapes& rows, const StopCheck& stop,
                     const Status& otherwise);

/// The shortage with what would do: a number of devices, if any helps, and a memory per device, the
/// least of each for which packing finds a plan, to a percent or so. With what it takes at least
/// where packing finds none within kFirstPlanSeconds.
Status what_would_do(const Problem& problem, const SearchOptions& options,
                     const Shortage& shortage);

}  // namespace neuroshard::search
