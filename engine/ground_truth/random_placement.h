#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// Ids of pool entries, a set a device.
using Placement = std::vector<std::vector<std::int32_t>>;

/// Draws what all devices of one exchange hold, as plans place it: from one shard on every other
/// device to `max_tables` a device, few numbers as often as many by their logarithm, and of the
/// dims from a largest down to a smallest that is drawn, too. The shards go, the heaviest first, to
/// the device with the least weight, where weight is one of dim, dim x pooling factor and bytes; in
/// half of the placements a share of them goes anywhere instead. Const access is thread-safe.
class PlacementDraw {
 public:
  /// `entries` is a pool (ShardPool::entries), which has to outlive this. Errors: kInvalidInput
  /// when none of them fits max_memory_bytes. REQUIRES devices >= 1, max_tables >= 1.
  static Result<PlacementDraw> make(const std::vector<Table>& entries, std::int32_t devices,
                                    std::int32_t max_tables, std::int64_t max_memory_bytes);

  /// Placement number `sample` of `seed`, a function of these two alone. No device's fp32 weights
  /// exceed the memory: a shard that none has room for is left out. At least one shard is placed.
  [[nodiscard]] Placement draw(std::uint64_t seed, std::int64_t sample) const;

 private:
  const std::vector<Table>* entries_ = nullptr;
  std::vector<std::int32_t> fitting_;   ///< ids of entries that fit a device of their own
  std::vector<std::int64_t> bytes_;     ///< per pool entry
  std::vector<std::int32_t> smallest_;  ///< dims that may be a placement's smallest
  std::int32_t devices_ = 1;
  std::int32_t max_tables_ = 1;
  std::int64_t max_memory_bytes_ = 0;
};

}  // namespace neuroshard
