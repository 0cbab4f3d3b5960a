#include "engine/core/plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "engine/core/coverage.h"
#include "engine/core/offload.h"

namespace neuroshard {
namespace {

std::string table_name(const PlanNames& names, std::size_t index) {
  return names.tables.empty() ? "table " + std::to_string(index) : names.tables[index];
}

Status validate_bounds(const Workload& workload, const Plan& plan, std::size_t index,
                       const PlanNames& names) {
  const Shard& shard = plan.shards[index];
  const std::string where =
      index < names.shards.size() ? names.shards[index] : "shards[" + std::to_string(index) + "]";
  const auto tables = static_cast<std::int64_t>(workload.tables.size());
  if (shard.table < 0 || shard.table >= tables) {
    return invalid_input(where + ": table " + std::to_string(shard.table) + ", expected 0 to " +
                         std::to_string(tables - 1));
  }
  const auto place = static_cast<std::size_t>(shard.table);
  const Table& table = workload.tables[place];
  if (shard.row_begin < 0 || shard.row_begin >= shard.row_end || shard.row_end > table.rows ||
      shard.column_begin < 0 || shard.column_begin >= shard.column_end ||
      shard.column_end > table.dim) {
    return invalid_input(where + ": " + describe_shard(shard) + ", expected a part of " +
                         table_name(names, place) + " with " + std::to_string(table.rows) +
                         " rows and " + std::to_string(table.dim) + " columns");
  }
  const bool whole = shard.rows() == table.rows && shard.dim() == table.dim;
  if (shard.device == kEveryDevice) {
    if (whole) return {};
    return invalid_input(where + ": " + describe_shard(shard) +
                         " on all devices, expected the whole " + table_name(names, place));
  }
  if (shard.device < 0 || shard.device >= plan.devices) {
    return invalid_input(where + ": device " + std::to_string(shard.device) + ", expected 0 to " +
                         std::to_string(plan.devices - 1));
  }
  return {};
}

Status validate_offloaded(const Workload& workload, const Plan& plan, std::size_t index) {
  const std::string where = "offloaded[" + std::to_string(index) + "]: ";
  const OffloadedTable& own = plan.offloaded[index];
  const auto tables = static_cast<std::int64_t>(workload.tables.size());
  if (own.table < 0 || own.table >= tables) {
    return invalid_input(where + "table " + std::to_string(own.table) + ", expected 0 to " +
                         std::to_string(tables - 1));
  }
  if (index > 0 && own.table <= plan.offloaded[index - 1].table) {
    return invalid_input(where + "table " + std::to_string(own.table) + " after " +
                         std::to_string(plan.offloaded[index - 1].table) +
                         ", expected each once and in order");
  }
  if (!own.kernel.offloaded()) {
    return invalid_input(where + "kernel 'fused', expected one that reads host memory");
  }
  return validate(own.kernel).with_context("offloaded[" + std::to_string(index) + "]");
}

/// The tables in host memory, and that none of those is on every device.
Status validate_offloaded(const Workload& workload, const Plan& plan) {
  if (plan.offloaded.empty()) return {};
  std::vector<bool> offloaded(workload.tables.size());
  std::int64_t bytes = room_for_buffers(workload);  // below 2^63, as the workload is valid
  for (const Table& table : workload.tables) bytes += most_bytes(table);
  for (std::size_t index = 0; index < plan.offloaded.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(validate_offloaded(workload, plan, index));
    const auto table = static_cast<std::size_t>(plan.offloaded[index].table);
    if (!add_offloaded_bytes(workload.tables[table], bytes)) {
      return invalid_input("offloaded[" + std::to_string(index) + "]: tables[0.." +
                           std::to_string(table) +
                           "] in all places that they may have, expected below 2^63 bytes");
    }
    offloaded[table] = true;
  }
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    const Shard& shard = plan.shards[index];
    if (shard.device != kEveryDevice || shard.table < 0 ||
        static_cast<std::size_t>(shard.table) >= offloaded.size() ||
        !offloaded[static_cast<std::size_t>(shard.table)]) {
      continue;
    }
    return invalid_input("shards[" + std::to_string(index) + "]: table " +
                         std::to_string(shard.table) +
                         " is in host memory and on every device, expected one of both");
  }
  return {};
}

}  // namespace

std::string describe_shard(const Shard& shard) {
  return "rows [" + std::to_string(shard.row_begin) + ", " + std::to_string(shard.row_end) +
         ") x columns [" + std::to_string(shard.column_begin) + ", " +
         std::to_string(shard.column_end) + ")";
}

bool has_part_of_rows(const Workload& workload, const Shard& shard) {
  return shard.rows() < workload.tables[static_cast<std::size_t>(shard.table)].rows;
}

std::int64_t block_rows(std::int64_t rows, std::int32_t blocks) { return (rows - 1) / blocks + 1; }

std::vector<ShardShape> shapes_of(const Plan& plan) {
  struct Rows {
    std::int32_t parts = 0;
    std::int64_t first = 0;
    std::int64_t all = 0;
  };
  std::vector<ShardShape> shapes;
  for (const Shard& shard : plan.shards) shapes.push_back(shape_of(shard));
  if (std::none_of(plan.shards.begin(), plan.shards.end(),
                   [](const Shard& shard) { return shard.row_begin > 0; })) {
    return shapes;
  }
  std::map<std::pair<std::int32_t, std::int32_t>, Rows> columns;  // by table and first column
  for (const Shard& shard : plan.shards) {
    Rows& rows = columns[{shard.table, shard.column_begin}];
    ++rows.parts;
    if (shard.row_begin == 0) rows.first = shard.rows();
    rows.all = std::max(rows.all, shard.row_end);
  }
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Rows& rows = columns[{plan.shards[k].table, plan.shards[k].column_begin}];
    const bool even = rows.first == block_rows(rows.all, rows.parts);
    if (rows.parts > 1 && even) shapes[k].row_blocks = rows.parts;
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

Shard whole_table(const Workload& workload, std::int32_t index, std::int32_t device) {
  const Table& table = workload.tables[static_cast<std::size_t>(index)];
  return {index, 0, table.rows, 0, table.dim, device};
}

std::int64_t shard_bytes(const Workload& workload, const ShardShape& shape) {
  const Table& table = workload.tables[static_cast<std::size_t>(shape.table)];
  return bytes_on_device(table, shape.rows, shape.dim, shape.replicated);
}

Status validate(const Workload& workload, const Plan& plan) {
  std::vector<std::vector<const Shard*>> by_table(workload.tables.size());
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(validate_bounds(workload, plan, index, {}));
    const Shard& shard = plan.shards[index];
    by_table[static_cast<std::size_t>(shard.table)].push_back(&shard);
  }
  NEUROSHARD_RETURN_IF_ERROR(validate_offloaded(workload, plan));
  for (std::size_t index = 0; index < by_table.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_coverage(workload.tables[index], table_name({}, index), std::move(by_table[index])));
  }
  return {};
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

std::vector<Status> find_faults(const Workload& workload, const Plan& plan,
                                const PlanNames& names) {
  std::vector<Status> faults;
  std::vector<std::vector<const Shard*>> by_table(workload.tables.size());
  std::vector<bool> out_of_bounds(workload.tables.size());
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    const Shard& shard = plan.shards[index];
    const auto table = static_cast<std::size_t>(shard.table);
    if (Status status = validate_bounds(workload, plan, index, names); !status.ok()) {
      faults.push_back(std::move(status));
      if (shard.table >= 0 && table < out_of_bounds.size()) out_of_bounds[table] = true;
      continue;
    }
    by_table[table].push_back(&shard);
  }
  if (Status status = validate_offloaded(workload, plan); !status.ok()) {
    faults.push_back(std::move(status));
  }
  for (std::size_t index = 0; index < by_table.size(); ++index) {
    if (out_of_bounds[index]) continue;  // says nothing new about the rest of that table
    Status status = check_coverage(workload.tables[index], table_name(names, index),
                                   std::move(by_table[index]));
    if (!status.ok()) faults.push_back(std::move(status));
  }
  return faults;
}

namespace {

/// What `bytes_of` says of each shard's table and shape.
template <typename BytesOf>
std::vector<std::int64_t> bytes_by_device(const Workload& workload, const Plan& plan,
                                          const BytesOf& bytes_of) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(plan.devices), 0);
  for (const Shard& shard : plan.shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    const std::int64_t size = bytes_of(table, shape_of(shard));
    if (shard.device == kEveryDevice) {
      for (std::int64_t& device : bytes) device += size;
    } else {
      bytes[static_cast<std::size_t>(shard.device)] += size;
    }
  }
  return bytes;
}

}  // namespace

std::vector<std::int64_t> placed_bytes(const Workload& workload, const Plan& plan) {
  return bytes_by_device(workload, plan, [](const Table& table, const ShardShape& shape) {
    return bytes_on_device(table, shape.rows, shape.dim, shape.replicated);
  });
}

std::vector<std::int64_t> device_bytes(const Workload& workload, const Plan& plan) {
  return placed_bytes(PlannedWorkload(workload, plan).get(), plan);
}

std::vector<std::int64_t> device_host_bytes(const Workload& workload, const Plan& plan) {
  return bytes_by_device(PlannedWorkload(workload, plan).get(), plan,
                         [](const Table& table, const ShardShape& shape) {
                           return bytes_on_host(table, shape.rows, shape.dim);
                         });
}

void canonicalize(Plan& plan) {
  std::sort(plan.shards.begin(), plan.shards.end(), [](const Shard& a, const Shard& b) {
    return std::tie(a.table, a.row_begin, a.column_begin, a.device) <
           std::tie(b.table, b.row_begin, b.column_begin, b.device);
  });
}

}  // namespace neuroshard
