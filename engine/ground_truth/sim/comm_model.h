#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/exchange_format.h"
#include "engine/core/hardware_profile.h"
#include "engine/ground_truth/ground_truth.h"

namespace neuroshard {

/// Time of the all-to-all of pooled embeddings (fp32) over `link`, without copies on the devices,
/// as benchmarks of collectives take it. Every port (in and out, inside the host and between hosts)
/// moves its bytes at its bandwidth; a pair can exchange from the later of its two starts on; the
/// whole ends when the last port is done, plus the latency of the farthest message. Without start
/// times that is latency + max over devices of max(sent, received) / bandwidth. Backward: a
/// device's last send is taken when the busiest peer takes it, so all devices finish together. One
/// device exchanges nothing. REQUIRES equal sizes, at least one device, dims and starts not
/// negative.
CommTime simulate_all_to_all(const InterconnectProfile& link, std::span<const std::int64_t> dims,
                             std::span<const double> starts_ms, std::int64_t batch_size);

/// Values a sample that each device sends in an exchange. `whole`: outputs, to whoever has the
/// sample. `partial`: partial sums of row shards, which hosts add up before they send them on.
/// `added_up`: what the device's host has of those when they are added up, which all of its devices
/// send on together; empty: as many as `partial` on each, as of one block on every device.
struct ExchangeValues {
  std::vector<double> whole;
  std::vector<double> partial;
  std::vector<double> added_up{};
  /// Whether partial sums are added up inside hosts before any go on between hosts, and backward
  /// return inside hosts after all have arrived: two collectives, as TorchRec's table_row_wise and
  /// HugeCTR's hierarchical exchange have it. If not, both go on together, as in a reduce-scatter.
  bool in_steps = false;
  int collectives = 1;  ///< one after the other: 2 where partial sums wait for a reduce-scatter
};

/// The same of both kinds, over `link`. Partial sums go inside a host to the device that has the
/// peer's place in it, then between equal places of the hosts (backward: the other way round): what
/// HugeCTR's hierarchical exchange and TorchRec's reduce-scatter do. On one host that sends what an
/// all-to-all of as many columns does. Each collective has a latency, and one of steps has that of
/// messages inside hosts, too. `profile` says how often
/// devices copy what they exchange of whole outputs, at the rate of their memory; one device copies
/// nothing. Of a `format` other than fp32, bytes are exchange_bytes(), partial sums in
/// summed_forward() and summed_backward(); at the rate of its memory a device also reads and writes
/// every value that it sends before, and every one that it has received after the exchange.
CommTime simulate_exchange(const HardwareProfile& profile, const InterconnectProfile& link,
                           const ExchangeValues& values, std::span<const double> starts_ms,
                           std::int64_t batch_size, const ExchangeFormat& format = {});

}  // namespace neuroshard
