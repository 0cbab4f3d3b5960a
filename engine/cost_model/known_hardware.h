#pragma once

#include <optional>

#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// At which simulated devices of `origin` copy, read and written, GB/s of 10^9 bytes, as the
/// built-in hardware profile says that their costs were simulated by. Nothing of other hardware.
std::optional<double> copy_gbps_of(const ModelOrigin& origin);

}  // namespace neuroshard
