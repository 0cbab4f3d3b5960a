#pragma once

#include <cstdint>

#include "search/sharder.h"

namespace neuroshard::search {

/// Goes on from `now`, a plan in canonical order that is valid and within the memory limit: local
/// search on the cost, by walks as those of `refine`, in which at most `limit_bytes` of weights and
/// optimizer states come to devices that do not hold them now. Whole tables and columns move, are
/// split and, where their cells are side by side, joined; row shards and replicas stay as they are.
/// What moved without making the plan cheaper is sent back.
///
/// Never dearer than `now`, which it returns where nothing better is found. Options as for
/// shard_refine(), but that no row shards or replicas are made.
SearchResult replan(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                    const Plan& now, std::int64_t limit_bytes);

}  // namespace neuroshard::search
