#pragma once

#include <cstdint>
#include <vector>

#include "search/local/local_plan.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"

namespace neuroshard::search {

/// Tables that would take less whole on every device than in pieces, by what a little more of
/// everything takes in `plan`, those first that would save the most. One table alone may save
/// nothing: the first one brings an all-reduce, whose latency many share. Nothing where the catalog
/// has no replicas. REQUIRES a plan with pieces of the catalog.
std::vector<std::int32_t> worth_replicating(const Assignment& plan, const Problem& problem,
                                            const PlanEvaluator& evaluator,
                                            const ShapeCatalog& catalog);

}  // namespace neuroshard::search
