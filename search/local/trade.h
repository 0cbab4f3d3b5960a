#pragma once

#include <cstdint>

#include "engine/core/rng.h"
#include "search/local/local_plan.h"
#include "search/local/move.h"

namespace neuroshard::search {

/// Draws a trade of two tables that may be in any widths: some columns of `piece`, or all, go to
/// `device`, and as many of a random piece of that come back as the `memory_bytes` of both devices
/// ask for and allow. Columns join those that the table has where they come to. Where memory is
/// full, neither of the two fits without the other. Fills in changes and edits; false when the draw
/// came to nothing. REQUIRES a piece that is on another device.
bool draw_trade(const LocalPlan& plan, std::int32_t piece, std::int32_t device,
                std::int64_t memory_bytes, Rng& rng, Move& move);

}  // namespace neuroshard::search
