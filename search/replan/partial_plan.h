#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "search/replan/cell_plan.h"
#include "search/replan/running_plan.h"

namespace neuroshard::search {

/// Plans that partial_plan() puts a cost on at most, where no budget says so.
inline constexpr std::int64_t kMostCostedBack = 40'000;

/// `plan` with some tables as they are in `now`: of the few that most bytes would move of, that one
/// goes back next which makes the plan dearer by the least a byte, and of the plans that this leads
/// to, one after the other, it is the cheapest within the limit. Tables that would have two blocks
/// of columns on a device, or sizes that the catalog has not, and of which pieces do not move where
/// only whole tables do, are as in `now` from the beginning.
///
/// Adds the plans that it puts a cost on to `evaluations`, and ends when those are `most`, or
/// `stop` says so: with the cheapest so far; nothing where there is none. REQUIRES a canonical
/// plan.
std::optional<CellPlan> partial_plan(const Plan& plan, const RunningPlan& now, std::int64_t most,
                                     std::int64_t& evaluations, const std::function<bool()>& stop);

}  // namespace neuroshard::search
