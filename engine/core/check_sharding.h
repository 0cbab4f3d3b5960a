#pragma once

#include <cstdint>
#include <span>

#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard {

/// kInvalidInput when `shards`, all of the table's in a valid plan on `devices`, are of a kind, of
/// a width or on a device that it does not allow. A single device may have anything.
Status check_sharding(const Table& table, std::span<const Shard> shards, std::int32_t devices);

}  // namespace neuroshard
