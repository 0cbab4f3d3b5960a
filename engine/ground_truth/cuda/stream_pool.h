#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "cuda/lookup/index_pool.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/core/thread_pool.h"

namespace neuroshard {

/// Lookups of tables in the memory of the GPU, made on first use and kept: tables of equal rows,
/// pooling factor and histogram share them, whatever their dim. Not thread-safe.
class StreamPool {
 public:
  /// Forgets everything when its streams exceed `limit_bytes`. `seed` is that of make_index_stream.
  StreamPool(std::uint64_t seed, std::int64_t limit_bytes)
      : seed_(seed), limit_bytes_(limit_bytes) {}

  /// Drops all streams when they have outgrown the limit. Streams handed out before are gone then.
  void trim();
  /// Makes the lookups of the shards' tables that are not there yet, what the CPU has to do for it
  /// on all of its threads. REQUIRES valid tables. Errors: kInvalidInput for 2^31 rows or lookups
  /// and more; memory.
  Status prepare(const Workload& workload, std::span<const Shard> shards);
  /// The lookups of the shard's rows, valid until trim(). REQUIRES a shard inside its table, and
  /// prepare() with both since the last trim(). Errors: memory.
  Result<const cuda::DeviceStream*> find(const Table& table, const Shard& shard,
                                         std::int64_t batch_size);

 private:
  using Key = std::tuple<std::int64_t, double, ReuseHistogram, std::int64_t, std::int64_t,
                         std::int64_t>;  // rows, pooling, histogram, batch, row range
  static Key key_of(const Table& table, std::int64_t batch_size, std::int64_t row_begin,
                    std::int64_t row_end);
  const cuda::DeviceStream* keep(const Key& key, cuda::DeviceStream stream);

  std::uint64_t seed_;
  std::int64_t limit_bytes_;
  std::int64_t bytes_ = 0;
  std::map<Key, cuda::DeviceStream> streams_;
  ThreadPool threads_{0};
};

}  // namespace neuroshard
