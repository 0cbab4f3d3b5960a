#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "search/local/shape_catalog.h"
#include "search/plan_evaluator.h"
#include "search/problem.h"
#include "search/refine/fast_plan.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Those tables in even row blocks over all devices, the others packed by memory in as few pieces
/// as fit, after a descent of at most `budget` plans. Nothing when packing finds no such plan.
std::optional<FastPlan> packed_beside(std::span<const std::int32_t> blocks, const Problem& problem,
                                      const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                                      const StopCheck& stop, std::int64_t budget);

/// A plan for little memory: what placing by load cannot fit it cuts into many pieces, each of
/// which costs something. Here tables are packed by memory, in as few pieces as fit, beside those
/// in even row blocks over all devices that make the plan cheapest, chosen one after the other
/// (large ones; of any size where costs add up); each plan then descends. Nothing when packing
/// finds none, or after `budget` plans.
std::optional<FastPlan> packed_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                    const ShapeCatalog& catalog, const StopCheck& stop,
                                    std::int64_t budget);

}  // namespace neuroshard::search
