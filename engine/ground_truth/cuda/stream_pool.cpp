#include "engine/ground_truth/cuda/stream_pool.h"

#include <utility>

#include "engine/ground_truth/cpu/index_stream.h"

namespace neuroshard {
namespace {

Result<cuda::DeviceStream> make(const Table& table, const Shard& shard, std::int64_t batch_size,
                                std::uint64_t seed) {
  if (shard.rows() == table.rows) {
    const StreamRecipe recipe = make_stream_recipe(table, batch_size, seed);
    return cuda::make_device_stream(recipe.offsets, recipe.counts, recipe.row_of, recipe.place_of);
  }
  const IndexStream part =
      restrict_rows(make_index_stream(table, batch_size, seed), shard.row_begin, shard.row_end);
  return cuda::upload_stream(part.offsets, part.indices);
}

}  // namespace

void StreamPool::trim() {
  if (bytes_ <= limit_bytes_) return;
  streams_.clear();
  bytes_ = 0;
}

Result<const cuda::DeviceStream*> StreamPool::find(const Table& table, const Shard& shard,
                                                   std::int64_t batch_size) {
  const Key key{table.rows, table.pooling_factor, table.reuse_histogram,
                batch_size, shard.row_begin,      shard.row_end};
  const auto known = streams_.find(key);
  if (known != streams_.end()) return &known->second;
  NEUROSHARD_ASSIGN_OR_RETURN(cuda::DeviceStream stream, make(table, shard, batch_size, seed_));
  bytes_ += static_cast<std::int64_t>(stream.indices.capacity() * sizeof(std::int32_t) +
                                      stream.offsets.capacity() * sizeof(std::int64_t));
  return &streams_.emplace(key, std::move(stream)).first->second;
}

}  // namespace neuroshard
