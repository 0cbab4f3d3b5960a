#include "engine/core/plan_check.h"

#include <string>
#include <utility>

#include "engine/core/coverage.h"

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

}  // namespace neuroshard
