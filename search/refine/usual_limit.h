#pragma once

#include "search/problem.h"

namespace neuroshard::search {

/// Seconds of shard_refine() when options give no limit.
inline constexpr double kRefineSeconds = 1;

/// `options` with that limit where they give none, and no more seconds than a clock can count.
SearchOptions with_usual_limit(SearchOptions options);

}  // namespace neuroshard::search
