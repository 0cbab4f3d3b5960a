#pragma once

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "search/problem.h"

namespace neuroshard::search {

/// A plan to start from where `now`, one that runs, cannot stay as it is. Shards of devices with
/// more than their memory go to the device with most room, few bytes rather than many, or some
/// columns of the largest do. Tables of which `now` has no shards are placed there, too, the
/// largest first, whole or, where that does not fit or may not be, in columns halved as often as it
/// takes. With `whole_tables`, nothing but whole tables is moved or placed. Row shards and replicas
/// stay, no device gets two blocks of a table. `now` in canonical order where there is nothing to
/// do. REQUIRES a plan that is valid but for such tables. Errors: kInfeasible, naming the device or
/// the table. Thread-safe.
Result<Plan> feasible_start(const Problem& problem, const Plan& now, bool whole_tables);

}  // namespace neuroshard::search
