#pragma once

#include "bench/refine/setup.h"

// Plans near one that runs, after its lookups have changed.

namespace neuroshard::bench {

/// What replan() makes of the gain of a plan from nothing, by the share of the bytes that move.
void drifted_lookups(const Setup& setup);

}  // namespace neuroshard::bench
