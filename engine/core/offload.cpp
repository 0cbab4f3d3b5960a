#include "engine/core/offload.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace neuroshard {

PlannedWorkload::PlannedWorkload(const Workload& workload, const Plan& plan) : given_(workload) {
  const auto fused = [](const Table& table) { return !table.kernel.offloaded(); };
  if (plan.offloaded.empty() &&
      std::all_of(workload.tables.begin(), workload.tables.end(), fused)) {
    return;
  }
  own_ = workload;
  for (Table& table : own_->tables) table.kernel = {};
  for (const OffloadedTable& table : plan.offloaded) {
    own_->tables[static_cast<std::size_t>(table.table)].kernel = table.kernel;
  }
}

std::vector<OffloadedTable> offloaded_tables(std::span<const TableKernel> kernels) {
  std::vector<OffloadedTable> offloaded;
  for (std::size_t index = 0; index < kernels.size(); ++index) {
    if (!kernels[index].offloaded()) continue;
    offloaded.push_back({static_cast<std::int32_t>(index), kernels[index]});
  }
  return offloaded;
}

std::vector<OffloadedTable> offloaded_tables(const Workload& workload) {
  std::vector<TableKernel> kernels;
  for (const Table& table : workload.tables) kernels.push_back(table.kernel);
  return offloaded_tables(kernels);
}

Status check_offloaded_bytes(const Workload& workload) {
  std::int64_t bytes = room_for_buffers(workload);
  for (const Table& table : workload.tables) bytes += most_bytes(table);
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    if (add_offloaded_bytes(workload.tables[index], bytes)) continue;
    return invalid_input("memory: tables[0.." + std::to_string(index) +
                         "] in all places that they may have, expected below 2^63 bytes");
  }
  return {};
}

Status check_none_offloaded(const Plan& plan, std::string_view why) {
  if (plan.offloaded.empty()) return {};
  return invalid_input("offloaded: table " + std::to_string(plan.offloaded.front().table) +
                       " is in host memory: " + std::string(why));
}

}  // namespace neuroshard
