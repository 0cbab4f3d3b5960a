#pragma once

#include <cstdint>

#include "engine/core/status.h"

namespace neuroshard {

/// One kind of link between two devices.
struct Link {
  double bandwidth_gbps = 0;  ///< GB/s (10^9 bytes) a device can send over it, one direction
  double latency_us = 0;      ///< time of the smallest message
};

/// The devices a plan is made for. Hosts and links are known from the start; a flat cluster has one
/// host. Links of 0 bandwidth mean "as the cost models saw it".
struct Cluster {
  std::int32_t devices = 0;
  std::int32_t hosts = 1;
  std::int64_t memory_bytes = 0;  ///< per device
  Link intra_host{};
  Link inter_host{};
};

/// Most devices a plan can have; a bound for hostile input, far above real clusters.
inline constexpr std::int32_t kMaxDevices = 65536;

/// 1 <= devices <= kMaxDevices, hosts divides devices, memory_bytes > 0.
Status validate(const Cluster& cluster);

}  // namespace neuroshard
