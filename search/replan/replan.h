#pragma once

#include "engine/core/move_limit.h"
#include "search/problem.h"

namespace neuroshard::search {

/// Goes on from `start`, a plan in canonical order that is valid and within the memory limits:
/// local search on the cost, by walks as those of `refine`, in which no more weights and optimizer
/// states than `limit` says come to devices that do not hold them in `now`. That is the plan that
/// runs, the same or what feasible_start() was made of; from one to the other no more than the
/// limit moves. Whole tables and columns move, are split and, where their cells are side by side,
/// joined; row shards and replicas are not touched by walks. No device gets a second block of
/// columns of a table. What moved without making the plan cheaper is sent back.
///
/// Each cycle of the time makes a plan from nothing, too (fresh_plan.h), and half of its first
/// walks go on from what may be of that: so tables get row shards and replicas, as the options have
/// them for shard_refine(), or become whole again. Budgets below 10,000 candidates have no room for
/// it. Never dearer than `start` by plan_cost(); returns it where nothing better is found.
SearchResult replan(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                    const Plan& now, const Plan& start, const MoveLimit& limit);

}  // namespace neuroshard::search
