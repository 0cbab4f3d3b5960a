#include "engine/core/shard.h"

namespace neuroshard {

Shard whole_table(const Workload& workload, std::int32_t index, std::int32_t device,
                  const TableKernel& kernel) {
  const Table& table = workload.tables[static_cast<std::size_t>(index)];
  return {index, 0, table.rows, 0, table.dim, device, kernel};
}

std::string describe_shard(const Shard& shard) {
  return "rows [" + std::to_string(shard.row_begin) + ", " + std::to_string(shard.row_end) +
         ") x columns [" + std::to_string(shard.column_begin) + ", " +
         std::to_string(shard.column_end) + ")";
}

bool has_part_of_rows(const Workload& workload, const Shard& shard) {
  return shard.rows() < workload.tables[static_cast<std::size_t>(shard.table)].rows;
}

}  // namespace neuroshard
