#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/sharder.h"
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

/// A plan that minds nothing but memory, for when nothing else fits: tables are split where no
/// device holds them whole, and then the largest pieces, until pack_by_memory() finds a way.
/// Nothing when it finds none even for the finest pieces, or is stopped.
std::optional<Plan> plan_by_memory(const Problem& problem, const StopCheck& stop);

/// The same with tables over all devices in even blocks of rows (even_block()),
/// for when no columns do: first the tables whose finest pieces no device holds, then more and
/// more, the largest first, until the others fit beside them, split or not.
std::optional<Plan> spread_by_memory(const Problem& problem, const StopCheck& stop);

}  // namespace neuroshard::search
