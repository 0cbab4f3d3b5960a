#pragma once

#include <functional>

#include "search/local/local_plan.h"

namespace neuroshard::search {

/// Joins pieces of a table on one device wherever the plan gets no costlier by it, and blocks of
/// its columns on one host, on all the host's devices. Networks may like two halves better than the
/// whole, or not mind; a device looks every index up twice for them, and some trainers take one
/// block of a table a device at most. All joins are tried at once, and one by one where the plan
/// gets costlier; those made so far when `stop` says so.
Assignment join_pieces(const Assignment& assignment, const Problem& problem,
                       const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                       const std::function<bool()>& stop);

}  // namespace neuroshard::search
