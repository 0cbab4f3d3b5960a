#include <algorithm>

#include "io/text.h"
#include "io/torchrec_plan.h"

namespace neuroshard::io {
namespace {

/// The device of every rank is rank modulo `host`, and row types of one host have so many shards.
bool explains(const TorchRecPlan& plan, std::int32_t host, bool row_types) {
  return std::all_of(plan.tables.begin(), plan.tables.end(), [&](const TorchRecTable& table) {
    for (std::size_t index = 0; index < table.shards.size(); ++index) {
      const TorchRecDevice& device = table.devices[index];
      if (device.kind == "cuda" && device.local != table.shards[index].device % host) return false;
    }
    if (table.sharding_type != "table_row_wise" && table.sharding_type != "grid_shard") return true;
    const auto ranks =
        std::count_if(table.shards.begin(), table.shards.end(), [&](const Shard& shard) {
          return shard.column_begin == table.shards.front().column_begin;
        });
    return !row_types || ranks == host;
  });
}

/// Devices of one host, 0 when no number gives all ranks their devices.
std::int32_t devices_per_host(const TorchRecPlan& plan, std::int32_t devices) {
  if (plan.devices_per_host != 0) {
    return explains(plan, plan.devices_per_host, false) ? plan.devices_per_host : 0;
  }
  for (const bool row_types : {true, false}) {
    for (std::int32_t host = devices; host > 0; --host) {
      if (devices % host == 0 && explains(plan, host, row_types)) return host;
    }
  }
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

/// A placement that is not on device rank modulo `host`; 0 = no number of them fits all placements.
std::string host_fault(const TorchRecPlan& plan, std::int32_t host) {
  for (const TorchRecTable& table : plan.tables) {
    for (std::size_t index = 0; index < table.shards.size() && host > 0; ++index) {
      const TorchRecDevice& device = table.devices[index];
      const std::int32_t rank = table.shards[index].device;
      if (device.kind != "cuda" || device.local == rank % host) continue;
      return "found rank " + std::to_string(rank) + " on cuda" +
             (device.local < 0 ? "" : ":" + std::to_string(device.local)) +
             ", expected cuda:" + std::to_string(rank % host) + ", rank modulo devices per host (" +
             std::to_string(host) + ")";
    }
  }
  return "found placements that are not on device rank modulo devices per host, expected such";
}

}  // namespace

std::vector<std::string> torchrec_place_faults(const TorchRecPlan& plan,
                                               const TrainerPlaces& places,
                                               std::int32_t devices_per_host) {
  if (!places.device_fault.empty()) return {places.device_fault};
  std::vector<std::string> faults;
  if (devices_per_host != 0 ? !explains(plan, devices_per_host, false)
                            : !places.host_fault.empty()) {
    faults.push_back(devices_per_host == 0 ? places.host_fault
                                           : host_fault(plan, devices_per_host));
  }
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
