#pragma once

#include <cstdint>
#include <vector>

#include "engine/ground_truth/sim/shard_load.h"

namespace neuroshard {

/// How a table's lookups spread over `blocks` even blocks of its rows when nobody knows where the
/// hot rows are: the share of each block times `blocks`, expected, the hottest block first; they
/// add up to `blocks`. Rows so hot that there are fewer of them than blocks go to one block each;
/// the others spread like random draws. All ones for one block or without a reuse histogram.
std::vector<double> block_skews(const RowUse& use, std::int32_t blocks);

}  // namespace neuroshard
