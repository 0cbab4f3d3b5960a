#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "search/policy/placement_policy.h"

namespace neuroshard::search {

/// The allowed device with the highest score, of equals the lowest.
std::int32_t best_device(std::span<const float> scores, std::span<const unsigned char> allowed);

/// Chooses by PolicyRun::scores() of all devices: what every policy can do. The run must outlive
/// it.
std::unique_ptr<DeviceChooser> choose_by_scores(const PolicyRun& run, std::int32_t devices);

}  // namespace neuroshard::search
