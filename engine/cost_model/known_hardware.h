#pragma once

#include <optional>
#include <string>

#include "engine/core/hardware_profile.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// What a built-in hardware profile says of the devices that costs were simulated for.
struct KnownHardware {
  double copy_gbps = 0;        ///< at which they copy, read and written, GB/s of 10^9 bytes
  double exchange_copies = 0;  ///< HardwareProfile::exchange_copies
  InterconnectProfile links;
  std::string specification;  ///< "NAME+LINKS", as choose_profile() takes it
};

/// Nothing of hardware that is measured, or of no built-in profile.
std::optional<KnownHardware> known_hardware(const ModelOrigin& origin);

}  // namespace neuroshard
