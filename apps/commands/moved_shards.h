#pragma once

#include <cstdint>
#include <string>

#include "apps/console/console.h"
#include "engine/core/cost_error.h"
#include "engine/core/plan.h"

namespace neuroshard::apps {

/// A line for people: what a plan, whose cost has that error, gains over the one in `source`, which
/// costs `now_ms`.
std::string gain_text(const std::string& source, double now_ms, double cost_ms,
                      const CostError& error);

/// The same of a plan for several cost models: their largest regrets, shares of a cost.
std::string regret_gain_text(const std::string& source, double now, double regret);

/// How many bytes come to devices that do not hold them when `to` takes the place of `from`, and of
/// which shards: a row each, those with the most bytes first, ten of them at most.
std::string moves_text(const Console& console, const Workload& workload, const Plan& from,
                       const Plan& to, std::int64_t limit_bytes);

}  // namespace neuroshard::apps
