#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/core/cluster.h"
#include "engine/core/exchange_format.h"

namespace neuroshard {

/// Whose estimator the formula is, the newest first.
enum class TorchRecRelease { k1_9, k1_4 };
constexpr std::array<TorchRecRelease, 2> torchrec_releases() {
  return {TorchRecRelease::k1_9, TorchRecRelease::k1_4};
}

/// "1.9", "1.4".
constexpr std::string_view version_of(TorchRecRelease release) {
  return release == TorchRecRelease::k1_9 ? "1.9" : "1.4";
}

/// The name that stands for TorchRec's own cost model where cost models are named: the newest
/// release's, and below those of older ones.
inline constexpr std::string_view kTorchRecCostModel = "torchrec";
constexpr std::string_view to_string(TorchRecRelease release) {
  return release == TorchRecRelease::k1_9 ? kTorchRecCostModel : "torchrec-1.4";
}

/// Nothing for other cost models' names.
constexpr std::optional<TorchRecRelease> release_of_model(std::string_view name) {
  for (const TorchRecRelease release : torchrec_releases()) {
    if (name == to_string(release)) return release;
  }
  return std::nullopt;
}

/// How many lookups a cache of a table's rows serves: as many percent as it holds rows, which is
/// TorchRec's formula, or what the table's AccessCurve says.
enum class CacheHits { kLoadFactor, kCurve };
/// "load-factor", "curve".
constexpr std::string_view to_string(CacheHits hits) {
  return hits == CacheHits::kCurve ? "curve" : "load-factor";
}
std::span<const CacheHits> all_cache_hits();

/// What TorchRec's performance estimator counts bytes with, in GB/s of 2^30 bytes; the defaults are
/// those of TorchRec 1.4 and 1.9 (torchrec/distributed/planner/constants.py).
struct TorchRecBandwidths {
  double device_gbps = 897;      ///< memory of a device
  double intra_host_gbps = 600;  ///< all-to-all on one host
  double inter_host_gbps = 12.5;
  double host_memory_gbps = 32;  ///< between a device and its host's memory
  CacheHits cache_hits = CacheHits::kLoadFactor;

  friend bool operator==(const TorchRecBandwidths&, const TorchRecBandwidths&) = default;
};

/// Of the bandwidth, what kernels that read host memory have by TorchRec's formula.
inline constexpr double kOffloadedShare = 0.1;

/// Whether no such kernel has more bandwidth than those of tables on the devices.
inline bool fused_is_fastest(const TorchRecBandwidths& bandwidths) {
  const double share = bandwidths.cache_hits == CacheHits::kCurve ? 1 : kOffloadedShare;
  return share * bandwidths.host_memory_gbps <= bandwidths.device_gbps;
}

/// Of GB/s of 2^30 bytes.
constexpr double bytes_per_ms(double gbps) { return gbps * (1024.0 * 1024.0 * 1024.0 / 1000.0); }

/// Each of them: costs stay finite. What TorchRec's own Topology takes is bytes a millisecond, a
/// million times as much, and above this whatever hardware is meant.
inline constexpr double kMinTorchRecGbps = 1e-6;
inline constexpr double kMaxTorchRecGbps = 1e6;

/// The estimator of a release, on a hardware.
struct TorchRecEstimator : TorchRecBandwidths {
  TorchRecRelease release = TorchRecRelease::k1_9;
};

/// What the estimator counts with: beside its own the hosts of a cluster, where host_devices() says
/// that there are several, and what its exchanges travel in.
struct TorchRecCosts : TorchRecEstimator {
  std::int32_t devices_per_host = kUsualHost;
  ExchangeFormat exchange{};
};

/// For hosts of so many devices, 0: of the usual number.
inline TorchRecCosts torchrec_costs(const TorchRecEstimator& estimator,
                                    std::int32_t devices_per_host,
                                    const ExchangeFormat& exchange = {}) {
  return {estimator, devices_per_host > 0 ? devices_per_host : kUsualHost, exchange};
}

/// Devices of one of several hosts of as many, or 0: there is one host.
inline std::int32_t host_devices(const TorchRecCosts& costs, std::int32_t devices) {
  return host_devices(devices, costs.devices_per_host);
}

}  // namespace neuroshard
