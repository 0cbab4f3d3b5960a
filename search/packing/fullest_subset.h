#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace neuroshard::search {

/// Indices, ascending, of values that add up to as much as possible without exceeding `limit`:
/// the best that `nodes` steps of a depth-first search, large values first, come across. Exact
/// where they suffice. REQUIRES values in descending order, none negative, and limit >= 0.
std::vector<std::size_t> fullest_subset(std::span<const std::int64_t> values, std::int64_t limit,
                                        std::int64_t nodes);

}  // namespace neuroshard::search
