#pragma once

#include <cstdint>

#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard {

/// A table of one feature whose lookups are pooled, and a global batch, that ask a device for the
/// same work: as many outputs, as many lookups and as many distinct rows.
struct PooledLookup {
  Table table;
  std::int64_t batch_size = 0;
};

/// Whether a shard of that shape is such a lookup itself, with the batch as it is.
inline bool looked_up_as_pooled(const Table& table, const ShardShape& shape) {
  return table.pooled && table.features == 1 && !shape.replicated && shape.kernel.hot_rows == 0;
}

/// What networks that have learned pooled lookups of one feature are asked about the others. A
/// table of F features has F outputs a sample: a batch F times as large with an F-th of the
/// lookups a sample. Lookups that are not pooled have an output each. Of a table on every device a
/// device looks up its own samples, where hot rows are less hot. Of a table with hot rows, a shard
/// is asked for the cold ones, and has an output of bags with one; hot rows are such a replica,
/// with an output of every bag. The shard has the shape's rows and columns in any case. REQUIRES a
/// shape of that table, and devices >= 1.
PooledLookup as_pooled(const Table& table, const ShardShape& shape, std::int64_t batch_size,
                       std::int32_t devices);

/// Of fewer bags than networks have learned, each as several of as many lookups together: the same
/// work but for the outputs, of which there are few.
PooledLookup in_learned_bags(PooledLookup lookup);

}  // namespace neuroshard
