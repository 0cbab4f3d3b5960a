#pragma once

#include <cstdint>
#include <string>

#include "engine/core/hardware_profile.h"
#include "engine/core/status.h"

namespace neuroshard::io {

// What ASTRA-sim's analytical backends want beside execution traces.

/// Its network file: one switch with the links' rate of a device each way, in its GB/s of 2^30
/// bytes, and half the latency on each of the two links to another device. Errors: kInvalidInput
/// for devices on several hosts, whose pairs that simulator has no way for. REQUIRES a device.
Result<std::string> astra_network(const InterconnectProfile& link, std::int32_t devices);

/// Its system file: nothing but the network takes time, and an all-to-all sends to all at once.
std::string astra_system();

/// Its file of memory outside the devices: there is none.
std::string astra_memory();

}  // namespace neuroshard::io
