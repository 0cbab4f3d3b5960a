#pragma once

#include <string>
#include <string_view>

#include "engine/core/hardware_profile.h"
#include "engine/core/status.h"

namespace neuroshard::io {

/// Reads a simulated hardware profile: `neuroshard-hardware-profile` version 1, every constant an
/// object {"value": number, "source": text} with a source that is not empty. Errors: kInvalidInput
/// naming `source` and the JSON path, also for values out of range.
Result<HardwareProfile> parse_profile(std::string_view bytes, const std::string& source);

}  // namespace neuroshard::io
