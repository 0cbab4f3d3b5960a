#pragma once

#include "engine/core/status.h"

namespace neuroshard {

/// OK when this build can measure on an NVIDIA GPU of this machine; otherwise kUnavailable with one
/// line that names what is missing. A build without CUDA links device_stub.cpp. Thread-safe.
Status device_available();

}  // namespace neuroshard
