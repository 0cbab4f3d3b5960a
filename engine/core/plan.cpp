#include "engine/core/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <tuple>

#include "engine/core/row_blocks.h"

namespace neuroshard {
namespace {

/// ShardShape::device_group of these devices, in ascending order: what divides every end of their
/// runs. Of a device that is there twice, 1.
std::int32_t group_of(std::span<const std::int32_t> devices) {
  std::int32_t group = 0;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const bool goes_on = k > 0 && devices[k] == devices[k - 1] + 1;
    const bool ends = k + 1 == devices.size() || devices[k + 1] != devices[k] + 1;
    if (!goes_on) group = std::gcd(group, devices[k]);
    if (ends) group = std::gcd(group, devices[k] + 1);
  }
  return group;
}

}  // namespace

std::vector<std::int64_t> columns_of_devices(const Plan& plan) {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(plan.devices));
  for (const Shard& shard : plan.shards) {
    const bool everywhere = shard.device == kEveryDevice;
    const std::int32_t first = everywhere ? 0 : shard.device;
    const std::int32_t last = everywhere ? plan.devices - 1 : shard.device;
    for (std::int32_t d = first; d <= last; ++d) {
      columns[static_cast<std::size_t>(d)] += shard.dim();
    }
  }
  return columns;
}

std::vector<ShardShape> shapes_of(const Plan& plan) {
  struct Rows {
    std::int32_t parts = 0;
    std::int64_t first = 0;
    std::int64_t all = 0;
    std::int32_t first_device = 0;
    bool in_order = true;
    std::vector<std::int32_t> devices{};
    std::int32_t group = 0;
  };
  std::vector<ShardShape> shapes;
  for (const Shard& shard : plan.shards) shapes.push_back(shape_of(shard));
  if (std::none_of(plan.shards.begin(), plan.shards.end(),
                   [](const Shard& shard) { return shard.row_begin > 0; })) {
    return shapes;
  }
  std::map<std::pair<std::int32_t, std::int32_t>, Rows> columns;  // by table and first column
  const auto rows_of = [&](const Shard& shard) -> Rows& {
    return columns[{shard.table, shard.column_begin}];
  };
  for (const Shard& shard : plan.shards) {
    Rows& rows = rows_of(shard);
    ++rows.parts;
    rows.devices.push_back(shard.device);
    if (shard.row_begin == 0) {
      rows.first = shard.rows();
      rows.first_device = shard.device;
    }
    rows.all = std::max(rows.all, shard.row_end);
  }
  for (const Shard& shard : plan.shards) {
    Rows& rows = rows_of(shard);
    const std::int32_t block = row_block_at(rows.all, rows.parts, shard.row_begin);
    rows.in_order = rows.in_order && rows.first_device % rows.parts == 0 &&
                    shard.device == rows.first_device + block;
  }
  for (auto& [key, rows] : columns) {
    std::sort(rows.devices.begin(), rows.devices.end());
    rows.group = group_of(rows.devices);
  }
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Rows& rows = rows_of(plan.shards[k]);
    if (rows.parts > 1) shapes[k].device_group = rows.group;
    const bool even = rows.first == block_rows(rows.all, rows.parts);
    if (rows.parts < 2 || !even) continue;
    shapes[k].row_blocks = rows.parts;
    shapes[k].in_order = rows.in_order;
  }
  return shapes;
}

std::string_view to_string(RowSplits row_splits) {
  return row_splits == RowSplits::kOff ? "off" : row_splits == RowSplits::kEven ? "even" : "any";
}

std::vector<std::int32_t> missing_tables(const Workload& workload, const Plan& plan) {
  std::vector<bool> there(workload.tables.size());
  for (const Shard& shard : plan.shards) {
    const bool known = shard.table >= 0 && shard.table < std::ssize(there);
    if (known) there[static_cast<std::size_t>(shard.table)] = true;
  }
  std::vector<std::int32_t> missing;
  for (std::size_t table = 0; table < there.size(); ++table) {
    if (!there[table]) missing.push_back(static_cast<std::int32_t>(table));
  }
  return missing;
}

Plan with_missing_tables(const Workload& workload, Plan plan) {
  for (const std::int32_t table : missing_tables(workload, plan)) {
    plan.shards.push_back(whole_table(workload, table, 0));
  }
  return plan;
}

Status check_no_replicas(const Plan& plan, std::string_view why) {
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    if (plan.shards[index].device != kEveryDevice) continue;
    return invalid_input("shards[" + std::to_string(index) + "]: table " +
                         std::to_string(plan.shards[index].table) +
                         " is on every device: " + std::string(why));
  }
  return {};
}

void canonicalize(Plan& plan) {
  std::sort(plan.shards.begin(), plan.shards.end(), [](const Shard& a, const Shard& b) {
    return std::tie(a.table, a.row_begin, a.column_begin, a.device) <
           std::tie(b.table, b.row_begin, b.column_begin, b.device);
  });
}

bool are_of_steps(std::span<const DeviceCost> costs) {
  return std::any_of(costs.begin(), costs.end(),
                     [](const DeviceCost& device) { return device.dense_ms > 0; });
}

std::int32_t bottleneck_of(const PlanCost& cost) {
  const auto dearest =
      std::max_element(cost.per_device.begin(), cost.per_device.end(),
                       [](const auto& a, const auto& b) { return a.total_ms() < b.total_ms(); });
  return static_cast<std::int32_t>(dearest - cost.per_device.begin());
}

std::vector<std::int32_t> idle_first(const PlanCost& cost) {
  std::vector<std::int32_t> devices(cost.per_device.size());
  std::iota(devices.begin(), devices.end(), 0);
  std::stable_sort(devices.begin(), devices.end(), [&](std::int32_t a, std::int32_t b) {
    return cost.per_device[static_cast<std::size_t>(a)].total_ms() <
           cost.per_device[static_cast<std::size_t>(b)].total_ms();
  });
  return devices;
}

}  // namespace neuroshard
