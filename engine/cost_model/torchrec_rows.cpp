#include "engine/cost_model/torchrec_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "engine/core/row_blocks.h"

namespace neuroshard {
namespace {

using Columns = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // table, begin, end

Columns columns_of(const Shard& shard) {
  return {shard.table, shard.column_begin, shard.column_end};
}

/// What `first`, the first rows of its columns, is a block of.
std::optional<DealtColumns> dealt_by(const Shard& first, const Table& table, std::int32_t devices,
                                     std::int32_t host_devices) {
  const auto over = [&](std::int32_t count) {
    return first.row_begin == 0 && first.device % count == 0 &&
           first.row_end == block_rows(table.rows, count);
  };
  if (first.dim() == table.dim && over(devices)) {
    return DealtColumns{first.table, first.dim(), 0, devices, first.kernel};
  }
  if (host_devices > 0 && over(host_devices)) {
    return DealtColumns{first.table, first.dim(), first.device, host_devices, first.kernel};
  }
  return std::nullopt;
}

bool is_block_of(const DealtColumns& dealt, const Shard& shard, const Table& table) {
  const std::int32_t rank = shard.device - dealt.first_device;
  if (rank < 0 || rank >= dealt.devices) return false;
  return is_row_block({shard.row_begin, shard.row_end}, table.rows, dealt.devices, rank);
}

Status no_block(std::size_t index, const Shard& shard, const Table& table, std::int32_t devices,
                std::int32_t host_devices) {
  const auto blocks = [&](std::int32_t count) {
    return "blocks of " + std::to_string(block_rows(table.rows, count)) + " rows";
  };
  std::string expected = blocks(devices) + " and all columns over all devices in order";
  if (host_devices > 1) {
    expected += ", or " + blocks(host_devices) + " over the " + std::to_string(host_devices) +
                " devices of a host";
  }
  return invalid_input("shards[" + std::to_string(index) + "]: " + describe_shard(shard) +
                       " of table " + std::to_string(shard.table) + " on device " +
                       std::to_string(shard.device) + ", expected " + expected +
                       ": the cost model torchrec knows no other parts of rows");
}

}  // namespace

Result<std::vector<DealtColumns>> dealt_columns(const Workload& workload, const Plan& plan,
                                                std::int32_t host_devices) {
  const auto table_of = [&](const Shard& shard) -> const Table& {
    return workload.tables[static_cast<std::size_t>(shard.table)];
  };
  std::map<Columns, DealtColumns> dealt;
  for (const Shard& shard : plan.shards) {
    if (!has_part_of_rows(workload, shard)) continue;
    const auto over = dealt_by(shard, table_of(shard), plan.devices, host_devices);
    if (over) dealt.emplace(columns_of(shard), *over);
  }
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    const Shard& shard = plan.shards[index];
    if (!has_part_of_rows(workload, shard)) continue;
    const auto own = dealt.find(columns_of(shard));
    if (own == dealt.end() || !is_block_of(own->second, shard, table_of(shard))) {
      return no_block(index, shard, table_of(shard), plan.devices, host_devices);
    }
  }
  std::vector<DealtColumns> all;
  for (const auto& [columns, each] : dealt) all.push_back(each);
  return all;
}

}  // namespace neuroshard
