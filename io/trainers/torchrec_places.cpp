#include <algorithm>
#include <optional>
#include <utility>

#include "io/plans/plan_tables.h"
#include "io/text.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {
namespace {

/// A rank and the device that the file puts it on.
struct Placement {
  std::int32_t rank;
  std::int32_t local;  ///< -1 = not said
};

/// The first GPU that is not device rank modulo `host`.
std::optional<Placement> misplaced(const TorchRecPlan& plan, std::int32_t host) {
  for (const TorchRecTable& table : plan.tables) {
    for (std::size_t index = 0; index < table.shards.size(); ++index) {
      const Placement found{table.shards[index].device, table.devices[index].local};
      if (table.devices[index].kind == "cuda" && found.local != found.rank % host) return found;
    }
  }
  return std::nullopt;
}

/// Row types of one host have `host` shards a column range.
bool row_types_explain(const TorchRecPlan& plan, std::int32_t host) {
  return std::all_of(plan.tables.begin(), plan.tables.end(), [&](const TorchRecTable& table) {
    if (table.sharding_type != "table_row_wise" && table.sharding_type != "grid_shard") return true;
    const auto ranks =
        std::count_if(table.shards.begin(), table.shards.end(), [&](const Shard& shard) {
          return shard.column_begin == table.shards.front().column_begin;
        });
    return ranks == host;
  });
}

/// Devices of one host, 0 when no number gives all ranks their devices. Where several do, the usual
/// one goes first.
std::int32_t devices_per_host(const TorchRecPlan& plan, std::int32_t devices) {
  if (plan.devices_per_host != 0) {
    return misplaced(plan, plan.devices_per_host) ? 0 : plan.devices_per_host;
  }
  std::vector<std::int32_t> sizes{host_size(devices, 0)};
  for (std::int32_t host = devices; host > 0; --host) {
    if (devices % host == 0) sizes.push_back(host);
  }
  std::erase_if(sizes, [&](std::int32_t host) { return misplaced(plan, host).has_value(); });
  for (const std::int32_t host : sizes) {
    if (row_types_explain(plan, host)) return host;
  }
  if (!sizes.empty()) return sizes.front();
  return 0;
}

std::string device_fault(const TorchRecPlan& plan, const std::string& kind) {
  const std::string expected = ", expected cuda or cpu for all shards";
  if (kind != "cuda" && kind != "cpu" && !kind.empty()) {
    return "found placements on " + excerpt(kind) + expected;
  }
  for (const TorchRecTable& table : plan.tables) {
    for (const TorchRecDevice& device : table.devices) {
      if (device.kind == kind) continue;
      return "found placements on " + excerpt(kind) + " and, of table " + excerpt(table.name) +
             ", on " + excerpt(device.kind) + expected;
    }
  }
  return {};
}

/// What is wrong with placements for hosts of `host` devices; "" when nothing is. 0 = no number of
/// them fits all placements.
std::string host_fault(const TorchRecPlan& plan, std::int32_t host) {
  if (host == 0) {
    return "found placements that are not on device rank modulo devices per host, expected such";
  }
  const std::optional<Placement> found = misplaced(plan, host);
  if (!found) return {};
  return "found rank " + std::to_string(found->rank) + " on cuda" +
         (found->local < 0 ? "" : ":" + std::to_string(found->local)) +
         ", expected cuda:" + std::to_string(found->rank % host) +
         ", rank modulo devices per host (" + std::to_string(host) + ")";
}

}  // namespace

std::vector<std::string> torchrec_place_faults(const TorchRecPlan& plan,
                                               const TrainerPlaces& places,
                                               std::int32_t devices_per_host) {
  if (!places.device_fault.empty()) return {places.device_fault};
  std::string fault =
      devices_per_host == 0 ? places.host_fault : host_fault(plan, devices_per_host);
  std::vector<std::string> faults;
  if (!fault.empty()) faults.push_back(std::move(fault));
  if (places.device != "cpu") return faults;
  for (const TorchRecTable& table : plan.tables) {
    const auto holds_nothing = [](const Shard& shard) { return shard.rows() == 0; };
    if (std::none_of(table.shards.begin(), table.shards.end(), holds_nothing)) continue;
    faults.push_back("table " + excerpt(table.name) + ": " +
                     torchrec_empty_rank(table.sharding_type));
  }
  return faults;
}

TrainerPlaces torchrec_places(const TorchRecPlan& plan, std::int32_t devices) {
  TrainerPlaces places;
  for (const TorchRecTable& table : plan.tables) {
    if (places.device.empty() && !table.devices.empty()) places.device = table.devices.front().kind;
  }
  places.device_fault = device_fault(plan, places.device);
  if (!places.device_fault.empty()) places.device.clear();
  places.devices_per_host = devices_per_host(plan, devices);
  if (places.devices_per_host == 0) {
    places.devices_per_host = plan.devices_per_host;
    places.host_fault = host_fault(plan, plan.devices_per_host);
  }
  return places;
}

}  // namespace neuroshard::io
