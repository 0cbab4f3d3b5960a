#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"

namespace neuroshard {

/// Columns of a table whose rows are dealt out in order, in blocks of ceil(rows / devices) or of
/// the sizes of a modulo (row_blocks.h), which differ by less than a row a device: the formula goes
/// by the number of blocks alone.
struct DealtColumns {
  std::int32_t table = 0;
  std::int32_t dim = 0;
  std::int32_t first_device = 0;
  std::int32_t devices = 0;  ///< with few rows the last have none
  TableKernel kernel{};
};

/// All of a plan's: over all devices (all columns; TorchRec's row_wise), or over those of a host
/// (table_row_wise, grid_shard), where hosts have `host_devices` devices and not 0. With rows for
/// few devices alone that may be either: the first then. kInvalidInput, naming the first shard in
/// the plan's order that is dealt out in another way. REQUIRES a plan that is valid for the
/// workload.
Result<std::vector<DealtColumns>> dealt_columns(const Workload& workload, const Plan& plan,
                                                std::int32_t host_devices);

}  // namespace neuroshard
