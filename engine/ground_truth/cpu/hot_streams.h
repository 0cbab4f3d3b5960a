#pragma once

#include <cstdint>
#include <vector>

#include "engine/ground_truth/cpu/index_stream.h"

namespace neuroshard {

/// The lookups of one batch into one table with hot rows.
struct PartedStream {
  std::vector<std::int64_t> hot_rows;  ///< those looked up most first; the lower of equal ones
  IndexStream hot;                     ///< by places in hot_rows
  IndexStream cold;                    ///< of the other rows, by their numbers
};

/// Parts a stream by the rows that it looks up most, at most so many. Both parts have all bags.
PartedStream part_stream(const IndexStream& stream, std::int64_t hot_rows);

/// Bags [begin, end) of a stream.
IndexStream bags_between(const IndexStream& stream, std::int64_t begin, std::int64_t end);

/// The bags that have a lookup, in ascending order.
std::vector<std::int64_t> bags_with_lookups(const IndexStream& stream);

}  // namespace neuroshard
