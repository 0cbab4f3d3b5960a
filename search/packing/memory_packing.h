#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/device_set.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// How hard to try: each piece where it leaves least room, or more than that.
enum class PackingEffort { kGreedy, kThorough };

/// A piece to be packed.
struct PackedPiece {
  std::int64_t bytes = 0;
  const DeviceSet* only_on = nullptr;  ///< where it may be; null: anywhere
};

/// Devices for pieces so that none holds more than `memory_bytes`: each piece, the largest first,
/// but those before all others that may not be anywhere, goes where it leaves least room. For those
/// that fit nowhere, a thorough packing deals out the pieces of two devices at a time anew, so that
/// one is filled as far as possible and the room gathers on the other. Nothing when that leads to
/// no place within a number of times that grows with the devices, or is stopped: then there may
/// still be a way. Deterministic.
std::optional<std::vector<std::int32_t>> pack_by_memory(std::span<const PackedPiece> pieces,
                                                        std::int32_t devices,
                                                        std::int64_t memory_bytes,
                                                        PackingEffort effort,
                                                        const StopCheck& stop);

}  // namespace neuroshard::search
