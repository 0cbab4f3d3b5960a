#pragma once

#include <cstdint>

#include "engine/core/hot_rows.h"
#include "engine/core/plan.h"
#include "engine/core/row_skew.h"
#include "engine/core/table.h"

namespace neuroshard {

/// What one lookup of a shard's rows asks for, whatever the hardware.
struct ShardLoad {
  std::int64_t rows = 0;  ///< of the shard, looked up or not
  std::int32_t dim = 0;
  std::int64_t row_bytes = 0;     ///< of the weights of a row
  std::int32_t lookup_bytes = 8;  ///< of a lookup: its row, its weight where it has one
  std::int64_t state_bytes = 0;   ///< that the optimizer keeps beside a row
  bool replica = false;           ///< of what every device holds, for its own samples
  bool pooled = true;             ///< whether lookups of a bag are summed
  double bags = 0;                ///< outputs: of pooled lookups one a sample and feature
  double lookups = 0;
  double distinct = 0;  ///< rows among the lookups
  RowUse use;
};

/// Of a shard on one device, for all samples of the batch: a row range has its share of the table's
/// lookups and of its distinct rows; of a table with hot rows, of those of the others, and an
/// output of bags with one of these.
ShardLoad shard_load(const Workload& workload, const Shard& shard);

/// Of a table that each of `devices` devices holds whole, on one that has `samples` of the samples.
/// A row that the batch looks up c times is seen on a device with the chance 1 - (1 - share)^c, so
/// hot rows are less hot there.
ShardLoad replica_load(const Workload& workload, std::int32_t table, std::int64_t samples);

/// The same of hot rows alone, with an output of every bag.
ShardLoad hot_load(const Workload& workload, const HotRows& hot, std::int64_t samples);

}  // namespace neuroshard
