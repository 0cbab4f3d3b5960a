#pragma once

#include <cstdint>
#include <span>

#include "engine/core/hardware_profile.h"
#include "engine/ground_truth/ground_truth.h"

namespace neuroshard {

/// Time of the all-to-all of pooled embeddings (fp32) over `link`. Every port (in and out, inside
/// the host and between hosts) moves its bytes at its bandwidth; a pair can exchange from the later
/// of its two starts on; the whole ends when the last port is done, plus the latency of the
/// farthest message. Without start times that is latency + max over devices of max(sent, received)
/// / bandwidth. Backward: a device's last send is taken when the busiest peer takes it, so all
/// devices finish together. One device exchanges nothing.
/// REQUIRES equal sizes, at least one device, dims and starts not negative.
CommTime simulate_all_to_all(const InterconnectProfile& link, std::span<const std::int64_t> dims,
                             std::span<const double> starts_ms, std::int64_t batch_size);

}  // namespace neuroshard
