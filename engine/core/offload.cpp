#include "engine/core/offload.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

std::string entry_name(std::size_t index) { return "offloaded[" + std::to_string(index) + "]: "; }

Status check_entry(std::span<const OffloadedTable> offloaded, std::size_t index) {
  const OffloadedTable& own = offloaded[index];
  if (index > 0 && own.table <= offloaded[index - 1].table) {
    return invalid_input(entry_name(index) + "table " + std::to_string(own.table) + " after " +
                         std::to_string(offloaded[index - 1].table) +
                         ", expected each once and in order");
  }
  if (!own.kernel.offloaded()) {
    return invalid_input(entry_name(index) + "kernel 'fused', expected one that reads host memory");
  }
  return validate(own.kernel).with_context("offloaded[" + std::to_string(index) + "]");
}

}  // namespace

std::vector<OffloadedTable> offloaded_tables(const Plan& plan) {
  std::map<std::int32_t, TableKernel> kernels;
  for (const Shard& shard : plan.shards) {
    if (shard.kernel.offloaded()) kernels.emplace(shard.table, shard.kernel);
  }
  std::vector<OffloadedTable> offloaded;
  for (const auto& [table, kernel] : kernels) offloaded.push_back({table, kernel});
  return offloaded;
}

bool has_offloaded(const Plan& plan) {
  return std::any_of(plan.shards.begin(), plan.shards.end(),
                     [](const Shard& shard) { return shard.kernel.offloaded(); });
}

Status give_kernels(std::span<const OffloadedTable> offloaded, Plan& plan) {
  for (std::size_t index = 0; index < offloaded.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(check_entry(offloaded, index));
  }
  std::vector<bool> given(offloaded.size());
  for (std::size_t index = 0; index < plan.shards.size() && !offloaded.empty(); ++index) {
    Shard& shard = plan.shards[index];
    const auto own = std::lower_bound(
        offloaded.begin(), offloaded.end(), shard.table,
        [](const OffloadedTable& a, std::int32_t table) { return a.table < table; });
    if (own == offloaded.end() || own->table != shard.table) continue;
    shard.kernel = own->kernel;
    NEUROSHARD_RETURN_IF_ERROR(check_offloaded_place(shard, index));
    given[static_cast<std::size_t>(own - offloaded.begin())] = true;
  }
  const auto without = std::find(given.begin(), given.end(), false);
  if (without == given.end()) return {};
  const auto index = static_cast<std::size_t>(without - given.begin());
  return invalid_input(entry_name(index) + "table " + std::to_string(offloaded[index].table) +
                       " has no shards, expected one that has");
}

Status check_offloaded_place(const Shard& shard, std::size_t index) {
  if (!shard.kernel.offloaded() || shard.device != kEveryDevice) return {};
  return invalid_input("shards[" + std::to_string(index) + "]: table " +
                       std::to_string(shard.table) +
                       " is in host memory and on every device, expected one of both");
}

OffloadedBytes::OffloadedBytes(const Workload& workload, std::int64_t more)
    : workload_(workload), bytes_(more) {
  for (const Table& table : workload.tables) bytes_ += most_bytes(table);
}

Status OffloadedBytes::add(std::size_t table, std::string_view where) {
  if (add_offloaded_bytes(workload_.tables[table], bytes_)) return {};
  return invalid_input(std::string(where) + ": tables[0.." + std::to_string(table) +
                       "] in all places that they may have, expected below 2^63 bytes");
}

Status check_offloaded_bytes(const Workload& workload, std::int64_t more) {
  OffloadedBytes bytes(workload, more);
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(bytes.add(index, "memory"));
  }
  return {};
}

Status check_none_offloaded(const Plan& plan, std::string_view why) {
  const std::vector<OffloadedTable> offloaded = offloaded_tables(plan);
  if (offloaded.empty()) return {};
  return invalid_input("offloaded: table " + std::to_string(offloaded.front().table) +
                       " is in host memory: " + std::string(why));
}

}  // namespace neuroshard
