#pragma once

#include <cstdint>

#include "engine/core/hardware_profile.h"

namespace neuroshard {

// What messages and collectives take over a profile's links, whoever asks: the simulator, and
// networks that have learned exchanges over the same links.

/// Hosts that `devices` devices are on, at least 1. REQUIRES devices >= 1.
std::int32_t hosts_of(const InterconnectProfile& link, std::int32_t devices);

/// How many of them are on a host.
std::int32_t devices_of_host(const InterconnectProfile& link, std::int32_t devices);

/// GB/s of 10^9 bytes that messages of so many bytes reach between hosts.
double inter_host_gbps(const InterconnectProfile& link, double bytes);

/// Milliseconds of a collective's farthest message.
double latency_ms(const InterconnectProfile& link, std::int32_t devices);

/// Milliseconds of the all-reduce of `bytes` that each of `devices` devices has, all starting
/// together: a reduce-scatter and an all-gather inside hosts and, of each device's part, between
/// them. 0 for one device or no bytes.
double all_reduce_ms(const InterconnectProfile& link, std::int32_t devices, double bytes);

/// Milliseconds of an exchange in which every device gets so many bytes from each other one, all
/// starting together; as long as one takes in which one device gets these, and others less.
double all_to_all_ms(const InterconnectProfile& link, std::int32_t devices, double bytes);

/// How long a device's ports are busy with its part of an exchange, milliseconds a byte, by the
/// rate of large messages.
struct PortTimes {
  double inside = 0;   ///< the host
  double between = 0;  ///< hosts; 0 where there is one
};

/// Of outputs: for each byte of those of the whole batch, what goes to the other devices.
PortTimes output_times(const InterconnectProfile& link, std::int32_t devices);

/// The same of partial sums, which hosts add up before they send them on.
PortTimes partial_sum_times(const InterconnectProfile& link, std::int32_t devices);

}  // namespace neuroshard
