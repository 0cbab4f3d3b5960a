#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/row_blocks.h"
#include "engine/core/table.h"

namespace neuroshard::io {

/// Gives the shards of tables that have more or fewer rows than in the plan the rows that they have
/// now: all of them where shards had all, blocks dealt out in the same way where they had even ones
/// or those of a modulo (row_blocks.h), and any other blocks the same shares as before, to a row.
/// Stays as it is: what is not all rows once, what would leave a block without rows, and tables
/// that the workload lacks. Blocks of one size are taken for those of `deal`. Returns the tables,
/// in order.
std::vector<std::int32_t> fit_rows(const Workload& workload, Plan& plan,
                                   RowDeal deal = RowDeal::kEven);

}  // namespace neuroshard::io
