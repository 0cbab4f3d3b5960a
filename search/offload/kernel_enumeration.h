#pragma once

#include <span>
#include <vector>

#include "search/offload/memory_prices.h"

namespace neuroshard::search {

/// Looks for a cheaper choice within the limits than `best`, depth first through all options that
/// may be part of one by their priced cost, those of tables that have most to lose first, for some
/// hundred thousand steps. `best`, empty where none is known, and `sums` are replaced by what was
/// found.
void enumerate_kernels(std::span<const std::vector<KernelOption>> tables,
                       const MemoryLimits& limits, const PricedChoice& cheapest,
                       std::vector<int>& best, ChoiceSums& sums);

}  // namespace neuroshard::search
