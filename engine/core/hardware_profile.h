#pragma once

#include <string>
#include <vector>

namespace neuroshard {

/// A number and where it comes from: a document, a measurement, or "estimate: why".
struct SourcedValue {
  double value = 0;
  std::string source;
};

/// How the devices of a profile are connected. Bandwidths are per device and direction, GB/s =
/// 10^9 bytes per second, as an all-to-all of large messages reaches them.
struct InterconnectProfile {
  std::string name;               ///< "nvswitch", "pcie", "cluster"
  SourcedValue devices_per_host;  ///< whole; 0: all devices in one host
  SourcedValue intra_host_gbps;
  SourcedValue intra_host_latency_us;
  SourcedValue inter_host_gbps;  ///< 0 exactly when devices_per_host is 0, like the latency
  SourcedValue inter_host_latency_us;
  /// Messages between hosts reach small + (inter_host_gbps - small) x m / (m + half) with m bytes
  /// to each peer. A profile without the two has one rate for all.
  SourcedValue inter_host_small_gbps;
  SourcedValue inter_host_half_mib;
  /// Of a collective between hosts inside a training step; absent: inter_host_latency_us.
  SourcedValue inter_host_step_latency_us;
};

/// Constants of the simulated ground truth (engine/ground_truth/sim): one device kind and its
/// interconnects. A plain value; read from JSON by io/cost_data/profile.h.
struct HardwareProfile {
  std::string name;         ///< "H200-141G"
  std::string description;  ///< one line of text

  SourcedValue memory_gib;  ///< usable device memory, GiB

  // Memory system.
  SourcedValue dram_gbps;        ///< achieved by a copy, read + write
  SourcedValue gather_share;     ///< of dram_gbps that random row gathers reach, (0, 1]
  SourcedValue l2_gbps;          ///< achieved from the L2 cache
  SourcedValue l2_mib;           ///< size of the L2 cache
  SourcedValue l2_usable_share;  ///< of the L2 that holds rows, (0, 1]
  SourcedValue l1_kib;           ///< of a multiprocessor's L1, that holds rows; absent: 0
  SourcedValue sector_bytes;     ///< smallest piece of a row that memory delivers

  // Instruction issue and occupancy.
  SourcedValue multiprocessors;
  SourcedValue clock_ghz;
  SourcedValue warps_per_multiprocessor;    ///< resident in a lookup kernel
  SourcedValue forward_cycles_per_lookup;   ///< of one multiprocessor, whatever the dim up to 128
  SourcedValue backward_cycles_per_lookup;  ///< the same for the backward kernel
  SourcedValue forward_cycles_per_bag;      ///< beside those of its lookups; absent: as of a lookup
  /// Beside those of its lookup, of one that is not pooled; absent: as of a bag.
  SourcedValue forward_cycles_per_sequence_row;
  /// Of a lookup whose row is in the L1, and of one whose row no cache has, for which a warp waits
  /// longer; absent: as of any lookup.
  SourcedValue forward_cycles_per_l1_lookup;
  SourcedValue forward_cycles_per_miss;
  SourcedValue backward_cycles_per_row;  ///< beside those of its lookups; absent: as of a lookup
  /// The same of a row that is looked up so often that a block of threads adds its gradients up,
  /// and not one warp; absent: as of any row.
  SourcedValue backward_cycles_per_long_row;
  /// More, of a lookup whose bag's gradient the L2 does not have; absent: 0.
  SourcedValue backward_cycles_per_miss;
  SourcedValue bag_latency_us;  ///< of one dependent offset -> index -> row chain

  /// How much less a bag and a miss (forward) and all of the backward kernel take where fewer lanes
  /// of a warp suffice, as no dim is above 32 or 64: cycles x (lanes / 32)^e. Absent: 0, no less.
  SourcedValue lane_exponent;

  /// How far moving bytes and issuing instructions overlap: time = (move^e + issue^e)^(1/e).
  /// 1: one after the other; large: only the slower counts.
  SourcedValue overlap_exponent;

  // Fixed costs of one fused operator call.
  SourcedValue launch_us;           ///< of one kernel
  SourcedValue forward_kernels;     ///< launched by one forward
  SourcedValue backward_kernels;    ///< launched by one backward: sort, run lengths, updates
  SourcedValue sort_bits_per_pass;  ///< radix sort of the looked-up rows

  /// How often a device copies what it exchanged (forward: received, backward: is about to send),
  /// as trainers do to put columns side by side. Absent: never.
  SourcedValue exchange_copies;

  // Dense layers of a training step (engine/iteration). Absent: the profile knows nothing of them.
  SourcedValue fp32_tflops;        ///< 10^12 operations a second, data sheet, without tensor units
  SourcedValue tf32_tflops;        ///< of the tensor units, dense; absent: as fp32
  SourcedValue fp16_tflops;        ///< the same; bf16 as well
  SourcedValue gemm_share;         ///< of those that large matrix products reach, (0, 1]
  SourcedValue elementwise_share;  ///< of dram_gbps that element-wise passes reach, (0, 1]
  SourcedValue host_gbps;          ///< from the host's memory to the device

  /// 90 % of simulated times are at most this share away from measurements that were published.
  /// Absent (no source): nobody has held the profile, or one like it, against any.
  SourcedValue published_error;
  /// The same of whole training steps.
  SourcedValue iteration_error;

  std::vector<InterconnectProfile> interconnects;  ///< at least one; the first is the default
};

}  // namespace neuroshard
