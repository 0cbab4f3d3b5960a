#pragma once

#include <functional>

#include "engine/core/status.h"
#include "search/problem.h"

namespace neuroshard {

/// What searches with all tables on the devices.
using FusedSearch = std::function<Result<search::SearchResult>(const search::Problem&)>;

/// Whether no table has to be elsewhere.
bool all_may_be_fused(const Workload& workload);

/// What `run` finds with all tables on devices: those whose kernels are others, on every one.
/// Errors: as the search, kInfeasible also where that is no way out.
Result<search::SearchResult> search_fused(const search::Problem& problem,
                                          const search::SearchOptions& options,
                                          const FusedSearch& run);

}  // namespace neuroshard
