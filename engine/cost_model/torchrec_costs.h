#pragma once

#include <cstdint>
#include <string_view>

#include "engine/core/cluster.h"
#include "engine/core/exchange_format.h"

namespace neuroshard {

/// The name that stands for TorchRec's own cost model where cost models are named.
inline constexpr std::string_view kTorchRecCostModel = "torchrec";

/// What TorchRec's performance estimator counts bytes with, in GB/s of 2^30 bytes; the defaults are
/// those of TorchRec 1.4 (torchrec/distributed/planner/constants.py).
struct TorchRecBandwidths {
  double device_gbps = 897;      ///< memory of a device
  double intra_host_gbps = 600;  ///< all-to-all on one host
  double inter_host_gbps = 12.5;
  double host_memory_gbps = 32;  ///< between a device and its host's memory

  friend bool operator==(const TorchRecBandwidths&, const TorchRecBandwidths&) = default;
};

/// Of the bandwidth, what kernels that read host memory have.
inline constexpr double kOffloadedShare = 0.1;

/// Whether no such kernel has more bandwidth than those of tables on the devices.
inline bool fused_is_fastest(const TorchRecBandwidths& bandwidths) {
  return kOffloadedShare * bandwidths.host_memory_gbps <= bandwidths.device_gbps;
}

/// Each of them: costs stay finite. What TorchRec's own Topology takes is bytes a millisecond, a
/// million times as much, and above this whatever hardware is meant.
inline constexpr double kMinTorchRecGbps = 1e-6;
inline constexpr double kMaxTorchRecGbps = 1e6;

/// What the estimator counts with: bandwidths of a hardware, the hosts of a cluster, where
/// host_devices() says that there are several, and what its exchanges travel in.
struct TorchRecCosts : TorchRecBandwidths {
  std::int32_t devices_per_host = kUsualHost;
  ExchangeFormat exchange{};
};

/// For hosts of so many devices, 0: of the usual number.
inline TorchRecCosts torchrec_costs(const TorchRecBandwidths& bandwidths,
                                    std::int32_t devices_per_host,
                                    const ExchangeFormat& exchange = {}) {
  return {bandwidths, devices_per_host > 0 ? devices_per_host : kUsualHost, exchange};
}

/// Devices of one of several hosts of as many, or 0: there is one host.
inline std::int32_t host_devices(const TorchRecCosts& costs, std::int32_t devices) {
  return host_devices(devices, costs.devices_per_host);
}

}  // namespace neuroshard
