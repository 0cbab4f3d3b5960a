#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard::io {

/// A plan's shards table by table, in the workload's order. Borrows a canonical plan whose shards
/// all name tables of the workload, which must outlive it.
class ShardsByTable {
 public:
  ShardsByTable(const Workload& workload, const Plan& plan);
  /// The shards of one table, by first row, then first column.
  [[nodiscard]] std::span<const Shard> of(std::size_t table) const {
    return std::span(shards_).subspan(begin_[table], begin_[table + 1] - begin_[table]);
  }

 private:
  std::vector<Shard> shards_;
  std::vector<std::size_t> begin_;
};

/// Index of each table by its name, for formats that know tables by name only. Error: a name that
/// two tables share.
Result<std::map<std::string, std::int32_t, std::less<>>> tables_by_name(const Workload& workload);

/// The names of all tables, as plan files keep them: none where two tables share one.
std::vector<std::string> names_for_plan(const Workload& workload);

/// "table 3 'user'": how refusals name what they refuse, with describe_shard() behind it.
std::string describe_table(const Workload& workload, std::int32_t table);

/// kInvalidInput, naming the first table that the plan has in a way, or on a device, that the table
/// does not allow: core check_sharding(). REQUIRES a plan that is valid for the workload.
Status check_plan_sharding(const Workload& workload, Plan plan);

/// Devices of one host: `devices_per_host`, or when it is 0, as nobody has said, of the usual ones.
inline std::int32_t host_size(std::int32_t devices, std::int32_t devices_per_host) {
  if (devices_per_host != 0) return devices_per_host;
  const std::int32_t usual = host_devices(devices);
  return usual == 0 ? devices : usual;
}

}  // namespace neuroshard::io
