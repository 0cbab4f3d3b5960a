#pragma once

#include <cstdint>
#include <string>

#include "engine/core/exchange_format.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/measure.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard {

/// "H100-80G, cluster (simulated)", as people read it.
std::string describe(const ChosenProfile& hardware);

/// Gives a profile whose links are those of one host its links between hosts ("cluster"), where it
/// has such and `devices` are more than it says that a host holds. Whether it did.
bool between_hosts(ChosenProfile& hardware, std::int32_t devices);

/// How many of `devices` devices one host has.
std::int32_t devices_on_a_host(const ChosenProfile& hardware, std::int32_t devices);

/// Whether any of its constants was fitted to published measurements of this hardware.
bool is_calibrated(const ChosenProfile& hardware);

/// The profile with hosts of `devices_per_host` devices. Errors: kInvalidInput when its
/// interconnect has all devices in one host and there are more than that, when there are fewer than
/// one host has, or when `devices` are no whole number of such hosts.
Result<ChosenProfile> with_hosts(ChosenProfile hardware, std::int32_t devices_per_host,
                                 std::int32_t devices);

/// Whether the hardware can be simulated with that plan. Errors: as simulate_plan().
Status check_simulated(const ChosenProfile& hardware, const Workload& workload, const Plan& plan);

/// What the plan costs on `hardware`, all of it simulated, as measure_plan() takes a plan apart:
/// lookups of each device, the backward exchange from a common start, the forward one from where
/// each device is ready for it. Knows what no network does:
/// - row shards: columns with part of the rows are partial sums of all samples, which each host
///   adds up and sends on once; blocks on all devices, or on those of a host, by a reduce-scatter;
/// - several features, lookups with weights, and lookups that are not pooled, each an output of its
///   own. Indices are looked up as often as they occur: nothing removes duplicates before that;
/// - tables on every device: each looks its own samples up, and an all-reduce of the gradients of
///   all rows, in fp32, is part of the backward exchange;
/// - exchanges in another `format` than fp32, with what their codecs take.
/// Deterministic. Errors: kInvalidInput when the plan does not cover the workload, has tables in
/// host memory or with an optimizer that is not simulated, or a device holds more than the
/// profile's memory.
Result<PlanMeasurement> simulate_plan(const ChosenProfile& hardware, const Workload& workload,
                                      const Plan& plan, const ExchangeFormat& format = {});

}  // namespace neuroshard
