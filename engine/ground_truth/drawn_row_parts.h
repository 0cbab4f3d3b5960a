#pragma once

#include <cstdint>

#include "engine/ground_truth/shard_pool.h"

namespace neuroshard {

/// Has the row shards of a pool say what is looked up in them when the lookups of every table are
/// make_index_stream(table, batch_size, seed): their pooling factor and reuse histogram. Hot rows
/// fall into one part of a table by chance, and its cost is that of what fell into it, not of an
/// even share: a network that is told the share learns noise.
void describe_drawn_row_parts(ShardPool& pool, std::int64_t batch_size, std::uint64_t seed);

}  // namespace neuroshard
