#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/scatter.h"
#include "engine/core/table.h"

namespace neuroshard {

/// The lookups of one batch into one table: bag b reads rows indices[offsets[b]..offsets[b + 1]).
struct IndexStream {
  std::vector<std::int64_t> offsets;  ///< batch_size + 1, from 0 to indices.size()
  std::vector<std::int64_t> indices;  ///< in [0, rows)

  [[nodiscard]] std::int64_t bags() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  [[nodiscard]] std::int64_t lookups() const { return static_cast<std::int64_t>(indices.size()); }
};

/// What a stream is made from: distinct row number r, the row row_of(r), is looked up counts[r]
/// times; the lookups, distinct row after distinct row, go to places place_of(0), place_of(1), ...
/// Small, and each lookup follows from it alone: a GPU makes all of them at once.
struct StreamRecipe {
  std::vector<std::int64_t> offsets;  ///< of the bags
  std::vector<std::int64_t> counts;   ///< they add up to offsets.back()
  Scatter row_of;
  Scatter place_of;
};
StreamRecipe make_stream_recipe(const Table& table, std::int64_t batch_size, std::uint64_t seed);

/// A batch that follows the table: round(batch_size * pooling_factor) lookups in bags of lengths
/// around the pooling factor (up to half of it away), distinct rows and their counts as the reuse
/// histogram says (distinct_rows of core), hot rows scattered over the table, lookups of a row
/// scattered over the bags. Where histogram and number of lookups contradict each other (a
/// histogram of another batch size), the number of lookups wins and counts leave their bins.
/// A function of (rows, pooling factor, histogram, batch size, seed) alone: tables that differ only
/// in dim, and all shards of a table, see the same lookups. Time and memory grow with the lookups,
/// not with the rows. REQUIRES validate(table).ok(), batch_size >= 1.
IndexStream make_index_stream(const Table& table, std::int64_t batch_size, std::uint64_t seed);

/// The lookups of `stream` that hit rows [row_begin, row_end), renumbered from 0.
IndexStream restrict_rows(const IndexStream& stream, std::int64_t row_begin, std::int64_t row_end);

}  // namespace neuroshard
