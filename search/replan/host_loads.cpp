#include "search/replan/host_loads.h"

#include <algorithm>
#include <cstddef>

#include "engine/core/shard_bytes.h"
#include "search/local/local_plan.h"

namespace neuroshard::search {
namespace {

bool watch(const Problem& problem, const SearchOptions& options) {
  const std::vector<TableSpace>& tables = problem.space.tables;
  return problem.cluster.host_memory_bytes > 0 &&
         host_devices(problem.cluster.devices, options.devices_per_host) > 0 &&
         std::any_of(tables.begin(), tables.end(),
                     [](const TableSpace& own) { return own.kernel.offloaded(); });
}

}  // namespace

HostLoads::HostLoads(const Problem& problem, const SearchOptions& options)
    : workload_(problem.workload),
      devices_each_(options.devices_per_host),
      memory_bytes_(problem.cluster.host_memory_bytes) {
  if (!watch(problem, options)) return;
  bytes_.resize(static_cast<std::size_t>(problem.cluster.devices / devices_each_));
}

void HostLoads::clear() {
  std::fill(bytes_.begin(), bytes_.end(), 0);
  beyond_ = 0;
}

void HostLoads::change(const Shard& cells, int sign) {
  if (!watched() || cells.device == kNoDevice) return;
  if (!cells.kernel.offloaded()) return;
  const Table& table = workload_.tables[static_cast<std::size_t>(cells.table)];
  std::int64_t& bytes = bytes_[static_cast<std::size_t>(cells.device / devices_each_)];
  beyond_ -= bytes > memory_bytes_ ? 1 : 0;
  bytes += sign * bytes_on_host(table, shape_of(cells));
  beyond_ += bytes > memory_bytes_ ? 1 : 0;
}

}  // namespace neuroshard::search
