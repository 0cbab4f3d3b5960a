#include "engine/ground_truth/sim/compute_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace neuroshard {
namespace {

constexpr double kSortedBytes = 12;   // a 64-bit row and a 32-bit bag
constexpr double kWarpColumns = 128;  // floats a warp moves in one step: 32 lanes of 16 bytes
constexpr double kGiga = 1e9;

double round_up(double bytes, double unit) { return std::ceil(bytes / unit) * unit; }

double usable_l2_bytes(const HardwareProfile& profile) {
  return profile.l2_mib.value * 1048576.0 * profile.l2_usable_share.value;
}

/// Cycles of a group of lanes beside those of a whole warp. A row of four-byte numbers takes a lane
/// for every four, 8 lanes at least.
double cycles_of_lanes(const HardwareProfile& profile, std::int32_t widest_dim) {
  const double lanes = widest_dim <= 32 ? 8 : widest_dim <= 64 ? 16 : 32;
  return std::pow(lanes / 32, profile.lane_exponent.value);
}

/// Lookups that find their row in a cache where the hottest `capacity` rows stay: all of a row's
/// lookups but the first in each of so many `caches`. Rows that do not fit always miss.
double cached_lookups(const ShardLoad& load, double capacity, double caches) {
  double hits = 0;
  for (std::size_t bin = load.use.rows.size(); bin-- > 0 && capacity > 0;) {
    hits += std::min(load.use.rows[bin], capacity) * std::max(0.0, load.use.count[bin] - caches);
    capacity -= load.use.rows[bin];
  }
  return std::min(hits, std::max(0.0, load.lookups - load.distinct));
}

/// Rows that FBGEMM gives a block of threads each, as a warp adds up less than 32 gradients
/// (embedding_backward_split_host_template.cpp, max_segment_length_per_warp). The rows of a bin
/// have counts from `count` / sqrt(2) to `count` sqrt(2), as many in each part of that range.
double long_rows(const RowUse& use) {
  constexpr double kGradientsOfAWarp = 32;
  double rows = 0;
  for (std::size_t bin = 0; bin < use.rows.size(); ++bin) {
    if (!(use.count[bin] > 0)) continue;
    rows +=
        use.rows[bin] * std::clamp(std::log2(use.count[bin] / kGradientsOfAWarp) + 0.5, 0.0, 1.0);
  }
  return rows;
}

/// Gradient rows read from memory: one row per bag, read in the order of the sorted lookups, which
/// is random over the bags, so a repeated read hits with the share of the rows that fit the L2.
double missed_gradients(double lookups, double bags, double capacity) {
  const double first = std::min(lookups, bags);
  return first + (lookups - first) * (1 - std::min(1.0, capacity / std::max(1.0, bags)));
}

struct Totals {
  ShardDemand demand;
  double rows = 0;  ///< of all shards: the range of the sort keys
};

Totals total_demand(const HardwareProfile& profile, std::span<const ShardLoad> loads,
                    std::int64_t samples) {
  // Warps resident on the device work on this many tables at a time, in table-major order.
  const double resident = profile.multiprocessors.value * profile.warps_per_multiprocessor.value;
  FusedWith fused;
  fused.concurrent_tables = std::clamp(std::ceil(resident / static_cast<double>(samples)), 1.0,
                                       static_cast<double>(std::max<std::size_t>(1, loads.size())));
  for (const ShardLoad& load : loads) fused.widest_dim = std::max(fused.widest_dim, load.dim);
  Totals totals;
  for (const ShardLoad& load : loads) {
    const ShardDemand one = shard_demand(profile, load, fused);
    ShardDemand& sum = totals.demand;
    sum.lookups += one.lookups;
    sum.distinct += one.distinct;
    sum.gather_bytes += one.gather_bytes;
    sum.stream_bytes += one.stream_bytes;
    sum.l2_bytes += one.l2_bytes;
    sum.cycles += one.cycles;
    sum.backward_gather_bytes += one.backward_gather_bytes;
    sum.backward_l2_bytes += one.backward_l2_bytes;
    sum.backward_cycles += one.backward_cycles;
    totals.rows += static_cast<double>(load.rows);
  }
  return totals;
}

double seconds_of_cycles(const HardwareProfile& profile, double cycles) {
  return cycles / (profile.multiprocessors.value * profile.clock_ghz.value * kGiga);
}

/// Radix sort of (row, bag) pairs by row, run-length encoding and prefix sum. The number of passes
/// follows from the rows of all fused tables together; pairs that fit the L2 move at its speed.
double sort_seconds(const HardwareProfile& profile, double lookups, double distinct, double rows) {
  const double bits = std::max(1.0, std::ceil(std::log2(std::max(2.0, rows))));
  const double passes = std::ceil(bits / profile.sort_bits_per_pass.value);
  const double bytes = lookups * (kIndexBytes + kSortedBytes)                 // linearised rows
                       + lookups * kIndexBytes                                // digit counts
                       + passes * lookups * 2 * kSortedBytes                  // scatter passes
                       + lookups * kIndexBytes + distinct * 2 * kIndexBytes;  // run lengths
  const bool in_l2 = lookups * 2 * kSortedBytes <= usable_l2_bytes(profile);
  const double gbps =
      in_l2 ? std::max(profile.l2_gbps.value, profile.dram_gbps.value) : profile.dram_gbps.value;
  return bytes / (gbps * kGiga);
}

/// Time of work that moves bytes and issues instructions: at least the slower of the two, more when
/// the other is nearly as slow, for they do not overlap perfectly. The norm keeps fused work below
/// the sum of its parts and grows with both.
double overlapped(const HardwareProfile& profile, double move_seconds, double issue_seconds) {
  const double slower = std::max(move_seconds, issue_seconds);
  if (!(slower > 0)) return 0;
  const double exponent = profile.overlap_exponent.value;
  const double other = std::min(move_seconds, issue_seconds) / slower;
  return slower * std::pow(1 + std::pow(other, exponent), 1 / exponent);
}

double fixed_seconds(const HardwareProfile& profile, const SourcedValue& kernels) {
  return (profile.launch_us.value * kernels.value + profile.bag_latency_us.value) * 1e-6;
}

}  // namespace

ShardDemand shard_demand(const HardwareProfile& profile, const ShardLoad& load,
                         const FusedWith& fused) {
  const double sector = profile.sector_bytes.value;
  const auto dim = static_cast<double>(load.dim);
  const double weight_row = round_up(static_cast<double>(load.row_bytes), sector);
  const double gradient_row = round_up(dim * 4, sector);
  const double capacity = usable_l2_bytes(profile) / fused.concurrent_tables;

  ShardDemand demand;
  demand.lookups = load.lookups;
  demand.distinct = load.distinct;
  const double hits = cached_lookups(load, capacity / weight_row, 1);
  const double l1_rows = profile.l1_kib.value * 1024 / fused.concurrent_tables / weight_row;
  const double l1_hits =
      std::min(hits, cached_lookups(load, l1_rows, profile.multiprocessors.value));
  demand.hit_rate = demand.lookups > 0 ? hits / demand.lookups : 0;

  const double steps = std::ceil(dim / kWarpColumns);
  const double lanes = cycles_of_lanes(profile, std::max(fused.widest_dim, load.dim));
  demand.gather_bytes = (demand.lookups - hits) * weight_row;
  demand.stream_bytes =
      demand.lookups * load.lookup_bytes + load.bags * kIndexBytes + load.bags * dim * 4.0;
  demand.l2_bytes = (demand.lookups - l1_hits) * weight_row + demand.stream_bytes;
  const SourcedValue& per_bag =
      load.pooled ? profile.forward_cycles_per_bag : profile.forward_cycles_per_sequence_row;
  demand.cycles = steps * (l1_hits * profile.forward_cycles_per_l1_lookup.value +
                           (hits - l1_hits) * profile.forward_cycles_per_lookup.value +
                           ((demand.lookups - hits) * profile.forward_cycles_per_miss.value +
                            load.bags * per_bag.value) *
                               lanes);

  const double state = round_up(static_cast<double>(load.state_bytes), sector);
  const double updates = demand.distinct * 2 * (weight_row + state);
  const double missed = missed_gradients(demand.lookups, load.bags, capacity / gradient_row);
  const double of_blocks = long_rows(load.use);
  demand.backward_gather_bytes = missed * gradient_row + updates;
  demand.backward_l2_bytes = demand.lookups * (gradient_row + kSortedBytes) + updates;
  demand.backward_cycles = steps * lanes *
                           (demand.lookups * profile.backward_cycles_per_lookup.value +
                            missed * profile.backward_cycles_per_miss.value +
                            (demand.distinct - of_blocks) * profile.backward_cycles_per_row.value +
                            of_blocks * profile.backward_cycles_per_long_row.value);
  return demand;
}

ComputeTime simulate_compute(const HardwareProfile& profile, std::span<const ShardLoad> loads,
                             std::int64_t samples) {
  if (loads.empty()) return {};
  const Totals totals = total_demand(profile, loads, samples);
  const ShardDemand& demand = totals.demand;
  const double stream = profile.dram_gbps.value * kGiga;
  const double gather = stream * profile.gather_share.value;
  const double l2 = profile.l2_gbps.value * kGiga;

  const double forward =
      fixed_seconds(profile, profile.forward_kernels) +
      overlapped(profile,
                 std::max(demand.gather_bytes / gather + demand.stream_bytes / stream,
                          demand.l2_bytes / l2),
                 seconds_of_cycles(profile, demand.cycles));
  const double backward = fixed_seconds(profile, profile.backward_kernels) +
                          sort_seconds(profile, demand.lookups, demand.distinct, totals.rows) +
                          overlapped(profile,
                                     std::max(demand.backward_gather_bytes / gather +
                                                  demand.lookups * kSortedBytes / stream,
                                              demand.backward_l2_bytes / l2),
                                     seconds_of_cycles(profile, demand.backward_cycles));
  return {(forward + backward) * 1e3, forward * 1e3, backward * 1e3};
}

ComputeTime simulate_compute(const HardwareProfile& profile, const Workload& workload,
                             std::span<const Shard> shards) {
  std::vector<ShardLoad> loads;
  loads.reserve(shards.size());
  for (const Shard& shard : shards) loads.push_back(shard_load(workload, shard));
  return simulate_compute(profile, loads, workload.batch_size);
}

double simulate_sort_ms(const HardwareProfile& profile, std::span<const ShardLoad> loads) {
  double lookups = 0;
  double distinct = 0;
  double rows = 0;
  for (const ShardLoad& load : loads) {
    lookups += load.lookups;
    distinct += load.distinct;
    rows += static_cast<double>(load.rows);
  }
  return 1e3 * sort_seconds(profile, lookups, distinct, rows);
}

}  // namespace neuroshard
