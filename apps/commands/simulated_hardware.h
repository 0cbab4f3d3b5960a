#pragma once

#include <cstdint>
#include <string>

#include "engine/core/status.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard::apps {

/// Hosts as --devices-per-host and a plan say them; 0: not said.
struct SaidHosts {
  std::int32_t given = 0;
  std::int32_t plans = 0;
  bool plan_insists = false;  ///< false: what it says is nothing to hardware without hosts
};

/// The hardware that --profile names for so many devices: in such hosts where somebody says so,
/// and with links between hosts where there are more devices than one holds and --profile names no
/// links, which a remark on standard error tells. Errors: those of choose_profile() and
/// with_hosts().
Result<ChosenProfile> simulated_hardware(const std::string& profile, const SaidHosts& hosts,
                                         std::int32_t devices);

}  // namespace neuroshard::apps
