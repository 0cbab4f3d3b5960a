#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/core/reuse_histogram.h"
#include "engine/core/shard.h"
#include "engine/core/table.h"

namespace neuroshard {

/// How often the distinct rows of a batch are looked up: `rows[k]` rows, `count[k]` times each. All
/// zeros where the table has no reuse histogram: every lookup is of another row then.
struct RowUse {
  std::array<double, kReuseBins> rows{};
  std::array<double, kReuseBins> count{};
};

/// Of so many lookups of so many distinct rows: bin centres are scaled so that the bins' lookups
/// add up to these.
RowUse row_use(const ReuseHistogram& histogram, double lookups, double distinct);

/// How a table's lookups spread over `blocks` even blocks of its rows when nobody knows where the
/// hot rows are: the share of each block times `blocks`, expected, the hottest block first; they
/// add up to `blocks`. Rows so hot that there are fewer of them than blocks go to one block each;
/// the others spread like random draws. All ones for one block or without a reuse histogram.
std::vector<double> block_skews(const RowUse& use, std::int32_t blocks);

/// How many times its share of its table's lookups the busiest of shards with so many rows has: of
/// the table's rows in as many even blocks, or in one a device where there would be more, several
/// on each. Of a table with hot rows, of the others. REQUIRES a shape of that table, not
/// replicated.
double busiest_shard(const Table& table, const ShardShape& shape, std::int64_t batch_size,
                     std::int32_t devices);

}  // namespace neuroshard
