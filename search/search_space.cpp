#include "search/search_space.h"

#include "engine/core/offload.h"

namespace neuroshard::search {

Shard SearchSpace::whole_on(std::int32_t device, std::int32_t table) const {
  const TableSpace& own = of(table);
  const TableKernel kernel = device == kEveryDevice ? TableKernel{} : own.kernel;
  return {table, 0, own.table->rows, 0, own.table->dim, device, kernel};
}

TableSpace space_of(const Table& table) { return {&table, table.sharding, table.devices}; }

SearchSpace space_of(const Workload& workload) {
  SearchSpace space;
  space.tables.reserve(workload.tables.size());
  for (const Table& table : workload.tables) space.tables.push_back(space_of(table));
  return space;
}

SearchSpace space_of(const Workload& workload, const Cluster& cluster) {
  SearchSpace space = space_of(workload);
  space.step = step_memory(workload, cluster);
  for (TableSpace& table : space.tables) {
    if (table.devices.has_all(0, cluster.devices)) table.devices = {};
    if (cluster.devices == 1) table.sharding.whole = true;
  }
  return space;
}

void give_kernels(const Plan& plan, SearchSpace& space) {
  for (const OffloadedTable& offloaded : offloaded_tables(plan)) {
    TableSpace& table = space.tables[static_cast<std::size_t>(offloaded.table)];
    table.kernel = offloaded.kernel;
    table.sharding.data_parallel = false;
  }
}

std::int64_t bytes_of_all(const SearchSpace& space) {
  std::int64_t bytes = 0;
  for (std::size_t table = 0; table < space.tables.size(); ++table) {
    bytes += space.whole_bytes(static_cast<std::int32_t>(table));
  }
  return bytes;
}

}  // namespace neuroshard::search
