#pragma once

#include <cstdint>

#include "engine/core/status.h"

namespace neuroshard {

/// The devices a plan is made for. Their hosts and links are the cost models' to know.
struct Cluster {
  std::int32_t devices = 0;
  std::int64_t memory_bytes = 0;  ///< per device
};

/// Most devices a plan can have; a bound for hostile input, far above real clusters.
inline constexpr std::int32_t kMaxDevices = 65536;

/// 1 <= devices <= kMaxDevices, memory_bytes > 0.
Status validate(const Cluster& cluster);

}  // namespace neuroshard
