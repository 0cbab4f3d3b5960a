#include "engine/core/plan_check.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/coverage.h"
#include "engine/core/hot_rows.h"
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

/// That a table's shards have one kernel, which is none of host memory on every device.
Status validate_kernel(const Shard& shard, std::size_t index, const Shard& first) {
  const std::string where = "shards[" + std::to_string(index) + "]";
  if (shard.kernel != first.kernel) {
    return invalid_input(where + ": found the kernel " + describe(shard.kernel) + ", expected " +
                         describe(first.kernel) + " as the table's other shards have it");
  }
  NEUROSHARD_RETURN_IF_ERROR(check_offloaded_place(shard, index));
  if (shard.kernel.hot_rows < 0 || (shard.kernel.hot_rows > 0 && shard.device == kEveryDevice)) {
    return invalid_input(
        where + ": found " + std::to_string(shard.kernel.hot_rows) + " hot rows, expected " +
        (shard.device == kEveryDevice ? "none of a table whole on every device" : "0 or more"));
  }
  return validate(shard.kernel).with_context(where);
}

/// The kernels of shards within bounds, and that what tables have in host memory can be counted.
Status validate_kernels(const Workload& workload, const Plan& plan) {
  const bool hot = std::any_of(plan.shards.begin(), plan.shards.end(),
                               [](const Shard& shard) { return shard.kernel.hot_rows != 0; });
  if (!hot && !has_offloaded(plan)) return {};
  std::vector<const Shard*> first(workload.tables.size());
  OffloadedBytes bytes(workload);
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    const Shard& shard = plan.shards[index];
    if (shard.table < 0 || shard.table >= std::ssize(first)) continue;
    const auto table = static_cast<std::size_t>(shard.table);
    if (first[table] == nullptr) {
      first[table] = &shard;
      if (shard.kernel.offloaded()) {
        NEUROSHARD_RETURN_IF_ERROR(bytes.add(table, "shards[" + std::to_string(index) + "]"));
      }
    }
    NEUROSHARD_RETURN_IF_ERROR(validate_kernel(shard, index, *first[table]));
  }
  return hot ? check_hot_rows(workload, plan) : Status();
}

}  // namespace

Status validate(const Workload& workload, const Plan& plan) {
  std::vector<std::vector<const Shard*>> by_table(workload.tables.size());
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(validate_bounds(workload, plan, index, {}));
    const Shard& shard = plan.shards[index];
    by_table[static_cast<std::size_t>(shard.table)].push_back(&shard);
  }
  NEUROSHARD_RETURN_IF_ERROR(validate_kernels(workload, plan));
  for (std::size_t index = 0; index < by_table.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_coverage(workload.tables[index], table_name({}, index), std::move(by_table[index])));
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
  if (Status status = validate_kernels(workload, plan); !status.ok()) {
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

}  // namespace neuroshard
