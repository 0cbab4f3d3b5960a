#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "search/problem.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// A plan that minds nothing but memory, for when nothing else fits: tables are split where no
/// device holds them whole, and then the largest pieces, until pack_by_memory() finds a way.
/// Nothing when it finds none even for the finest pieces, or is stopped.
std::optional<Plan> plan_by_memory(const Problem& problem, const StopCheck& stop);

/// What a search ends with that has found no plan of its own: plan_by_memory(), with what the
/// search took. Errors: kInfeasible; kCancelled where `patience` ended it.
Result<SearchResult> packed_instead(const Problem& problem, const StopCheck& patience,
                                    std::int64_t evaluations, bool stopped_early);

/// plan_by_memory() of all but the `blocks`, distinct tables that go over all devices in even
/// blocks of their rows (even_block()), which they have.
std::optional<Plan> plan_by_memory_with_blocks(const Problem& problem,
                                               std::span<const std::int32_t> blocks,
                                               const StopCheck& stop);

/// The same with row shards, for when no columns do. Tables whose finest columns no device holds
/// are halved by rows, where `rows` have halves, and then all that rows divide finer than columns.
/// Where that is not enough, tables go over all devices in even blocks (even_block()), if `rows`
/// have those: first the tables whose finest pieces no device holds, then more and more, the
/// largest first, until the others fit beside them, split or not.
std::optional<Plan> plan_by_memory_with_rows(const Problem& problem, const RowShapes& rows,
                                             const StopCheck& stop);

}  // namespace neuroshard::search
