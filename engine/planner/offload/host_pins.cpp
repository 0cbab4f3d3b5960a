#include "engine/planner/offload/host_pins.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

/// The devices of a host that the table may be on.
std::vector<std::int32_t> devices_of(const Hosts& hosts, std::int32_t host,
                                     const search::TableSpace& table) {
  std::vector<std::int32_t> devices;
  for (std::int32_t rank = 0; rank < hosts.devices_each; ++rank) {
    const std::int32_t device = host * hosts.devices_each + rank;
    if (table.devices.has(device)) devices.push_back(device);
  }
  return devices;
}

std::int64_t bytes_of(const search::TableSpace& own) {
  const Table& table = *own.table;
  return bytes_on_host(table, {.rows = table.rows, .dim = table.dim, .kernel = own.kernel});
}

/// Takes the table's share of every host; false where one has no memory for it, or the table is not
/// to be divided over all of them.
bool take_shares(const Hosts& hosts, SharedBy shared, search::TableSpace& table,
                 std::vector<std::int64_t>& left) {
  AllowedSharding& allowed = table.sharding;
  const bool in_rows = shared == SharedBy::kRows;
  const bool divisible = allowed.rows || (allowed.columns && !in_rows);
  if (hosts.count == 1 || !divisible || !table.devices.all()) return false;
  const std::int64_t share = bytes_of(table) / hosts.count + 1;
  if (*std::min_element(left.begin(), left.end()) < share) return false;
  for (std::int64_t& bytes : left) bytes -= share;
  if (in_rows) {
    allowed.whole = allowed.columns = false;
    table.rows_over_all = true;
  }
  return true;
}

}  // namespace

bool pin_to_hosts(const Hosts& hosts, SharedBy shared, search::SearchSpace& space) {
  std::vector<std::size_t> order;
  for (std::size_t index = 0; index < space.tables.size(); ++index) {
    if (space.tables[index].kernel.offloaded()) order.push_back(index);
  }
  // Large ones first: small ones fit into what they leave.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bytes_of(space.tables[a]) > bytes_of(space.tables[b]);
  });
  search::SearchSpace pinned = space;
  std::vector<std::int64_t> left(static_cast<std::size_t>(hosts.count), hosts.memory_bytes);
  for (const std::size_t index : order) {
    search::TableSpace& table = pinned.tables[index];
    std::int32_t emptiest = -1;
    for (std::int32_t host = 0; host < hosts.count; ++host) {
      if (devices_of(hosts, host, table).empty()) continue;
      const bool more = emptiest < 0 || left[static_cast<std::size_t>(host)] >
                                            left[static_cast<std::size_t>(emptiest)];
      if (more) emptiest = host;
    }
    if (emptiest < 0 || left[static_cast<std::size_t>(emptiest)] < bytes_of(table)) {
      if (!take_shares(hosts, shared, table, left)) return false;
      continue;
    }
    left[static_cast<std::size_t>(emptiest)] -= bytes_of(table);
    table.devices = DeviceSet(devices_of(hosts, emptiest, table));
  }
  space = std::move(pinned);
  return true;
}

}  // namespace neuroshard
