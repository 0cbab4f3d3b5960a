#pragma once

#include <string>
#include <string_view>

#include "engine/core/hardware_profile.h"
#include "engine/core/status.h"

namespace neuroshard::io {

/// Reads the links of a machine as FlexFlow's machine files describe them (its
/// machine_config_example): lines of "key = value", latencies in milliseconds, rates in GB/s, and
/// paths between the memories of GPUs as lists of links. The rates of the result are a device's: it
/// has an NVLink to each device of its node, shares PCI, UPI and the memory bus with those of its
/// socket, and network cards with those of its node, or of its socket where nic_distribution (or
/// nic_persocket) says how many a socket has. A path is as fast as its slowest link, and takes the
/// latencies of all; inside a node the slower of the paths inside and between sockets counts.
///
/// `name` is what the result is called. Errors: kInvalidInput naming `source` and the line, of keys
/// that such files do not have, too; a machine of one device, and one without a path that its
/// devices need.
Result<InterconnectProfile> parse_machine_file(std::string_view bytes, const std::string& source,
                                               const std::string& name);

}  // namespace neuroshard::io
