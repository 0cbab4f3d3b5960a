#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/exchange_format.h"
#include "engine/core/hardware_profile.h"

namespace neuroshard {

/// When a table's lookups are done. What is left is done from the gradients' arrival on.
struct LookupShares {
  double forward = 0;  ///< before outputs travel, of all but the sort
  double sort_ms = 0;  ///< of all its rows, milliseconds: as much for a few columns as for all
};

/// Milliseconds of a table's lookups on a device that has all of it, for its own samples.
struct ReplicaLookup {
  double forward_ms = 0;   ///< with the sort of its rows
  double backward_ms = 0;  ///< without
};

/// The links as steps use them, and what travels over them beside outputs and their gradients.
struct StepLinks {
  InterconnectProfile links{};
  std::int32_t devices = 1;
  double gradient_bytes = 0;  ///< of dense layers, which those of replicas are added up with
  bool together = false;      ///< whether they are; if not, those of replicas go by themselves
  /// Of the rows to look up, from each device to one that has them, for each lookup that a sample
  /// has there.
  double input_bytes_per_lookup = 0;
};

/// What a training step takes beside lookups and exchanges, on every device alike, milliseconds,
/// and what goes on at the same time. A step is, one after the other: outputs travel; the middle
/// of the dense part; their gradients travel; lookups' backward passes, the optimizer and the next
/// batch's lookups. The rest is beside these, as the order of the trainer's tasks has it.
struct DenseTime {
  double beside_forward_ms = 0;   ///< runs while outputs travel
  double beside_backward_ms = 0;  ///< runs while their gradients travel
  double rest_ms = 0;             ///< nothing of the embedding part runs beside it
  double optimizer_ms = 0;        ///< the same, after gradients of dense layers are added up
  /// That these are, after the gradients of outputs have arrived, and after what ran beside that.
  double reduce_after_exchange_ms = 0;
  double reduce_after_dense_ms = 0;
  double least_ms = 0;                 ///< of the whole step: the processor's, or copies'
  std::vector<LookupShares> shares{};  ///< of each table's; empty: all is of the backward pass
  bool sorts_beside = false;           ///< rows are sorted while outputs travel; else later
  /// Launches and the like of lookups' passes, which are no part of those.
  double launch_forward_ms = 0;
  double launch_backward_ms = 0;
  /// What all lookups of a device take less than on their own, as kernels are launched together.
  double launches_saved_ms = 0;
  Precision values = Precision::kFp32;  ///< that outputs and all gradients are computed in
  std::optional<StepLinks> links{};     ///< nothing: of one device, or not known
  /// Where tables on every device are looked up beside the exchanges: what each takes. Empty: they
  /// are looked up with a device's shards. Together they have launches of their own.
  std::vector<ReplicaLookup> replicas{};

  [[nodiscard]] double launches_ms() const { return launch_forward_ms + launch_backward_ms; }
  /// Of the gradients of replicas that are so many bytes in fp32, on their own: what it takes
  /// longer until all gradients are added up.
  [[nodiscard]] double replica_reduce_ms(double fp32_bytes) const;
  /// Of the next batch's rows, so many of which a sample looks up on the busiest device.
  [[nodiscard]] double input_ms(double lookups) const;
};

/// What a device does with its tables in a step, milliseconds.
struct StepLoad {
  double lookup_forward_ms = 0;
  double lookup_backward_ms = 0;  ///< from the gradients' arrival on
  double sort_ms = 0;             ///< of rows, beside the forward exchange
  ReplicaLookup replicas{};       ///< where these are looked up by themselves, added up
  double exchange_forward_ms = 0;
  double exchange_backward_ms = 0;
  double input_ms = 0;       ///< of the next batch's rows
  double reduced_bytes = 0;  ///< fp32 gradients of replicas, on each device
};

/// When the device is ready for the forward exchange, counted from the end of the one before, and
/// the whole step; the step of a plan is the longest of its devices'.
struct StepTime {
  double ready_ms = 0;
  double total_ms = 0;
};

/// A step as the streams of its device have it: what is sent waits for what was sent before it,
/// what is computed for what was computed before. Exact where the order of tasks is
/// make_step_graph()'s, all times are right and the processor is faster than the device.
StepTime step_time(const DenseTime& dense, const StepLoad& load);

}  // namespace neuroshard
