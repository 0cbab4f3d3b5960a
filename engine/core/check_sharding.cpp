#include "engine/core/check_sharding.h"

#include <string>

#include "engine/core/decimal.h"

namespace neuroshard {
namespace {

/// What kind of sharding a shard is a sign of.
ShardingKind kind_of(const Table& table, const Shard& shard) {
  if (shard.device == kEveryDevice) return ShardingKind::kDataParallel;
  if (shard.rows() < table.rows) return ShardingKind::kRows;
  return shard.dim() < table.dim ? ShardingKind::kColumns : ShardingKind::kWhole;
}

std::string in_words(ShardingKind kind) {
  switch (kind) {
    case ShardingKind::kColumns:
      return "split by columns";
    case ShardingKind::kRows:
      return "split by rows";
    case ShardingKind::kDataParallel:
      return "whole on every device";
    default:
      return "whole on one device";
  }
}

/// On which device the table may not have a shard, or -1.
std::int32_t wrong_device(const Table& table, const Shard& shard, std::int32_t devices) {
  const bool everywhere = shard.device == kEveryDevice;
  const std::int32_t end = everywhere ? devices : shard.device + 1;
  for (std::int32_t device = everywhere ? 0 : shard.device; device < end; ++device) {
    if (!table.devices.has(device)) return device;
  }
  return -1;
}

/// The kernels, and which cache, that is not any.
std::string describe_caches(const AllowedKernels& kernels) {
  if (!kernels.fused_uvm_caching || kernels.load_factor == 0) return describe(kernels);
  return describe(kernels) + ", caches with " + general_decimals(100 * kernels.load_factor, 4) +
         " % of the rows";
}

}  // namespace

Status check_sharding(const Table& table, std::span<const Shard> shards, std::int32_t devices) {
  const bool replicated = shards.size() == 1 && shards[0].device == kEveryDevice;
  if (!replicated && !shards.empty() && !table.kernels.allows(shards[0].kernel)) {
    return invalid_input("found the kernel " + describe(shards[0].kernel) + ", it may have " +
                         describe_caches(table.kernels));
  }
  if (devices == 1) return {};
  const AllowedSharding& allowed = table.sharding;
  for (const Shard& shard : shards) {
    const bool narrow = shard.dim() < table.dim;
    ShardingKind kind = kind_of(table, shard);
    if (kind == ShardingKind::kRows && allowed.rows && narrow) kind = ShardingKind::kColumns;
    if (!allowed.allows(kind)) {
      return invalid_input("found it " + in_words(kind) + ", its sharding allows " +
                           describe(allowed));
    }
    if (narrow && !allowed.allows_columns(shard.dim())) {
      return invalid_input("found a shard of " + std::to_string(shard.dim()) +
                           " columns, its sharding allows no fewer than " +
                           std::to_string(allowed.min_columns));
    }
    const std::int32_t device = wrong_device(table, shard, devices);
    if (device >= 0) {
      return invalid_input("found a shard on device " + std::to_string(device) + ", it may be on " +
                           describe(table.devices));
    }
  }
  return {};
}

}  // namespace neuroshard
