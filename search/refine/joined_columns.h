#pragma once

#include <cstdint>

#include "search/problem.h"

namespace neuroshard::search {

/// The plan with what a device holds of a table's columns as one block, wherever that costs no
/// more: walks know only widths that halving leads to, and no piece of three quarters of a table.
/// All tables are tried at once, and one by one where that costs more. Columns are laid out anew in
/// the order of the blocks they were in. Takes no more memory on any device. Returned in canonical
/// order. Adds the plans that it puts a cost on, some dozens at most, to `evaluations`. Interns
/// shapes. REQUIRES a valid plan.
Plan with_joined_columns(Plan plan, const Problem& problem, PlanEvaluator& evaluator,
                         std::int64_t& evaluations);

/// The same wherever a table may be so, whatever it costs, for who runs no other plans.
Plan with_all_columns_joined(Plan plan, const SearchSpace& space);

}  // namespace neuroshard::search
