#include "engine/ground_truth/cuda/stream_pool.h"

#include <set>
#include <utility>
#include <vector>

#include "engine/ground_truth/cpu/index_stream.h"

namespace neuroshard {

StreamPool::Key StreamPool::key_of(const Table& table, std::int64_t batch_size,
                                   std::int64_t row_begin, std::int64_t row_end) {
  return {table.rows, table.pooling_factor, table.reuse_histogram, batch_size, row_begin, row_end};
}

const cuda::DeviceStream* StreamPool::keep(const Key& key, cuda::DeviceStream stream) {
  bytes_ += static_cast<std::int64_t>(stream.indices.capacity() * sizeof(std::int32_t) +
                                      stream.offsets.capacity() * sizeof(std::int64_t));
  return &streams_.emplace(key, std::move(stream)).first->second;
}

void StreamPool::trim() {
  if (bytes_ <= limit_bytes_) return;
  streams_.clear();
  bytes_ = 0;
}

Status StreamPool::prepare(const Workload& workload, std::span<const Shard> shards) {
  std::set<Key> wanted;
  std::vector<std::pair<Key, const Table*>> missing;
  for (const Shard& shard : shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    const Key key = key_of(table, workload.batch_size, 0, table.rows);
    if (streams_.count(key) == 0 && wanted.insert(key).second) missing.emplace_back(key, &table);
  }
  std::vector<std::vector<StreamRecipe>> recipes(missing.size());  // one each
  threads_.parallel_for(std::ssize(missing), [&](std::int64_t k, int) {
    const auto at = static_cast<std::size_t>(k);
    recipes[at].push_back(make_stream_recipe(*missing[at].second, workload.batch_size, seed_));
  });
  for (std::size_t k = 0; k < missing.size(); ++k) {
    const StreamRecipe& recipe = recipes[k].front();
    NEUROSHARD_ASSIGN_OR_RETURN(
        cuda::DeviceStream stream,
        cuda::make_device_stream(recipe.offsets, recipe.counts, recipe.row_of, recipe.place_of));
    keep(missing[k].first, std::move(stream));
  }
  return {};
}

Result<const cuda::DeviceStream*> StreamPool::find(const Table& table, const Shard& shard,
                                                   std::int64_t batch_size) {
  const Key key = key_of(table, batch_size, shard.row_begin, shard.row_end);
  const auto known = streams_.find(key);
  if (known != streams_.end()) return &known->second;
  const cuda::DeviceStream& whole = streams_.at(key_of(table, batch_size, 0, table.rows));
  NEUROSHARD_ASSIGN_OR_RETURN(
      cuda::DeviceStream part,
      cuda::restrict_rows(whole, batch_size, shard.row_begin, shard.row_end));
  return keep(key, std::move(part));
}

}  // namespace neuroshard
