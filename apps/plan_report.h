#pragma once

#include <cstdint>
#include <string>

#include "apps/console.h"
#include "engine/core/plan.h"

namespace neuroshard::apps {

/// Device by device: shards, compute, forward, backward and total milliseconds, memory and its
/// share of the limit, a bar of the total; the slowest device is marked.
std::string plan_table(const Console& console, const Plan& plan, const PlanCost& cost,
                       std::int64_t memory_limit);

/// Milliseconds with the decimals that a cost near `largest` deserves: three significant digits or
/// more ("0.1234", "12.34", "123.4").
std::string milliseconds(double value, double largest);

}  // namespace neuroshard::apps
