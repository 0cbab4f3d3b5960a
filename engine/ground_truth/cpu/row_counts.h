#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/reuse_histogram.h"

namespace neuroshard {

/// How often each distinct row of a batch is looked up, hottest bin last: positive counts that add
/// up to `lookups`, at most `rows` of them, distributed over the bins of `histogram` as closely as
/// whole rows allow. An all-zero histogram with lookups spreads them evenly.
/// REQUIRES lookups >= 0, rows >= 1.
std::vector<std::int64_t> row_counts(const ReuseHistogram& histogram, std::int64_t lookups,
                                     std::int64_t rows);

}  // namespace neuroshard
