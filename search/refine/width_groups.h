#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/local/shape_catalog.h"
#include "search/plan_evaluator.h"
#include "search/problem.h"
#include "search/refine/fast_plan.h"
#include "search/stop_check.h"

namespace neuroshard::search {

inline constexpr std::size_t kMostWidthGroups = 2;

/// Pieces times devices of such a plan at most: placing takes that long.
inline constexpr std::size_t kMostPlacedByWidth = 100'000;

/// Plans in which some devices have all wide pieces and the others none. Kernels that read a wide
/// table have many lanes of a GPU read the narrow ones beside it, too. So tables that are wide and
/// looked up often get devices of their own, halved by rows, and all others are cut to what few
/// lanes read: for each width up to which lanes are saved, and for one or more devices with wide
/// pieces, as many of either as balance the devices, placed by load. The best of these plans that
/// differ in the width or in the devices with wide pieces descend, kMostWidthGroups at most, the
/// cheapest before it descended first. None where tables have no pieces that move, all are as wide,
/// or no such plan fits; after `budget` plans the best so far.
std::vector<FastPlan> width_groups(const Problem& problem, const PlanEvaluator& evaluator,
                                   const ShapeCatalog& catalog, const StopCheck& stop,
                                   std::int64_t budget);

}  // namespace neuroshard::search
