#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/start_plan.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Until that share of the time that is left, counted from `began`, or so many seconds.
StopCheck share_of_time(const SearchOptions& options, std::chrono::steady_clock::time_point began,
                        double share, double seconds);

/// The cheaper of the fast plans by load and with rows split, or whole on every device; nothing
/// where memory is too tight for both. REQUIRES a complete catalog of the problem.
std::optional<StartPlan> fast_start(const Problem& problem, PlanEvaluator& evaluator,
                                    const ShapeCatalog& catalog, const StopCheck& stop,
                                    std::int64_t budget);

}  // namespace neuroshard::search
