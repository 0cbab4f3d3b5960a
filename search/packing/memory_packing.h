#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/stop_check.h"

namespace neuroshard::search {

/// Devices for pieces of these bytes so that none holds more than `memory_bytes`: each piece, the
/// largest left first, goes where it leaves least room; where it fits nowhere, one or two pieces
/// that together are smaller make room for it and are placed again. Every step packs more bytes, so
/// it ends. Nothing when it gets stuck or is stopped: then there may still be a way.
std::optional<std::vector<std::int32_t>> pack_by_memory(std::span<const std::int64_t> bytes,
                                                        std::int32_t devices,
                                                        std::int64_t memory_bytes,
                                                        const StopCheck& stop);

}  // namespace neuroshard::search
