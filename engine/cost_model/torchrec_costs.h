#pragma once

#include <cstdint>
#include <string_view>

namespace neuroshard {

/// The name that stands for TorchRec's own cost model where cost models are named.
inline constexpr std::string_view kTorchRecCostModel = "torchrec";

/// Constants of TorchRec's performance estimator; the defaults are those of TorchRec 1.4
/// (torchrec/distributed/planner/constants.py), whose GB are 2^30 bytes. A cluster has hosts of
/// `devices_per_host` devices; devices that fill no whole number of such hosts, fewer among them,
/// are one host: so TorchRec counts its ranks.
struct TorchRecCosts {
  double device_gbps = 897;      ///< memory of a device
  double intra_host_gbps = 600;  ///< all-to-all on one host
  double inter_host_gbps = 12.5;
  std::int32_t devices_per_host = 8;
};

/// Devices of one of several hosts of as many, or 0: there is one host.
inline std::int32_t host_devices(const TorchRecCosts& costs, std::int32_t devices) {
  const std::int32_t each = costs.devices_per_host;
  return devices > each && devices % each == 0 ? each : 0;
}

}  // namespace neuroshard
