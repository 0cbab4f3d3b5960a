#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/lookup/embedding_bag.h"
#include "cuda/memory.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/ground_truth/cuda/stream_pool.h"

namespace neuroshard {

/// Memory of the GPU that grows to what the largest measurement needs and keeps its small random
/// values (or zeros). Not thread-safe.
class DeviceArena {
 public:
  DeviceArena(DataType type, bool zero) : type_(type), zero_(zero) {}
  /// At least so many bytes, aligned to 256; gone with the next take().
  Result<std::byte*> take(std::int64_t bytes);

 private:
  DataType type_;
  bool zero_;
  cuda::Buffer<std::byte> memory_;
};

/// Tables of one measurement after the other in the memory of the GPU: weights and optimizer states
/// carved from arenas, lookups from pools that are kept. Not thread-safe.
class DeviceTables {
 public:
  /// `seed` is that of make_index_stream; streams may take `stream_bytes`.
  DeviceTables(std::uint64_t seed, std::int64_t stream_bytes) : streams_(seed, stream_bytes) {}

  /// The shards as tables of a fused lookup, until the next call. REQUIRES as
  /// GroundTruth::measure_compute. Errors: kInvalidInput for a batch of more lookups than the
  /// kernels can count; memory.
  Result<std::vector<cuda::BagTable>> place(const Workload& workload,
                                            std::span<const Shard> shards);

 private:
  StreamPool streams_;
  std::array<DeviceArena, 2> weights_{DeviceArena{DataType::kFp32, false},
                                      DeviceArena{DataType::kFp16, false}};
  DeviceArena states_{DataType::kFp32, true};
};

}  // namespace neuroshard
