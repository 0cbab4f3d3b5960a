#pragma once

#include <cstdint>

#include "engine/core/exchange_format.h"
#include "engine/core/status.h"
#include "engine/core/step_buffers.h"

namespace neuroshard {

/// The devices a plan is made for, and what they have. Their links are the cost models' to know.
struct Cluster {
  std::int32_t devices = 0;
  std::int64_t memory_bytes = 0;  ///< per device, for all that shard_bytes() counts
  /// Of each host, for tables that the devices have no room for, or that are cheaper there than in
  /// what room is left: TorchRec's fused_uvm and fused_uvm_caching. 0: none for searches, and not
  /// watched when a plan is replanned.
  std::int64_t host_memory_bytes = 0;
  StepBuffers buffers = StepBuffers::kOff;  ///< that count as memory of shards
  /// Of one host, all of them alike and their devices in order; 0: the usual number (kUsualHost).
  /// Costs that go by hosts (Capabilities::hosts) heed it, others have those they were trained on.
  std::int32_t devices_per_host = 0;
  ExchangeFormat exchange{};  ///< in which numbers what is looked up travels between the devices
};

/// Most devices a plan can have; a bound for hostile input, far above real clusters.
inline constexpr std::int32_t kMaxDevices = 65536;

/// Devices of a host where nobody says otherwise, as TorchRec counts its ranks.
inline constexpr std::int32_t kUsualHost = 8;

/// Devices of one of several hosts of `each`, or 0: there is one host. Devices that fill no whole
/// number of such hosts, fewer among them, are one, and so are all where `each` is 0.
inline std::int32_t host_devices(std::int32_t devices, std::int32_t each = kUsualHost) {
  return each > 0 && devices > each && devices % each == 0 ? each : 0;
}

/// Devices of one of the cluster's hosts, or 0: there is one host.
inline std::int32_t host_devices(const Cluster& cluster) {
  const std::int32_t said = cluster.devices_per_host;
  return host_devices(cluster.devices, said > 0 ? said : kUsualHost);
}

/// 1 <= devices <= kMaxDevices, memory_bytes > 0, host_memory_bytes and devices_per_host >= 0.
Status validate(const Cluster& cluster);

}  // namespace neuroshard
