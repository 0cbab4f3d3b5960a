#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// Adds so many columns (fewer where negative) to what every device sends of the host that `device`
/// is on, as Exchanged::host_dims. The last host may have fewer devices. `work`: the devices', or
/// empty where it does not count.
inline void add_host_dims(std::int64_t columns, std::int32_t device, std::int32_t host_devices,
                          std::span<std::int64_t> dim_sums, std::span<DeviceWork> work) {
  const auto first = static_cast<std::size_t>(device / host_devices * host_devices);
  const std::size_t end = std::min(first + static_cast<std::size_t>(host_devices), dim_sums.size());
  for (std::size_t d = first; d < end; ++d) {
    dim_sums[d] += columns;
    if (!work.empty()) work[d].sum_dims += columns;
  }
}

}  // namespace neuroshard::search
