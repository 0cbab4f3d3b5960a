#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/iteration/streams.h"

namespace neuroshard {

/// One task of a step on a device; times from the beginning of the step on, where the step before
/// is over. What is issued early may begin before.
struct TimelineEntry {
  std::string name;
  StepPhase phase{};
  Stream stream{};
  std::int32_t device = 0;
  double start_ms = 0;
  double end_ms = 0;
};

/// How a step's time comes about on the device that is done last.
struct PhaseTime {
  double ms = 0;          ///< that its tasks run
  double exposed_ms = 0;  ///< of those, milliseconds that the step is longer by: see IterationCost
};

/// What a whole training step takes once batches follow one another.
struct IterationCost {
  double iteration_ms = 0;
  /// Without streams: every device does one thing after the other, as soon as the processor has
  /// launched it. Never below iteration_ms.
  double sum_ms = 0;
  std::int32_t slowest_device = 0;
  /// By StepPhase, of the slowest device. A moment of the step belongs to compute where that runs,
  /// else to what is sent or copied then: so all exposed times and the waiting add up to the
  /// iteration. What of a phase is not exposed is hidden.
  std::array<PhaseTime, kStepPhases> phases{};
  double waiting_ms = 0;                ///< nothing runs there: other devices, the processor
  std::vector<TimelineEntry> timeline;  ///< of all devices, by task, then device
  /// From 0 to iteration_ms; each ends where the next begins. The first may have begun earlier.
  /// What waits for the processor waits for all that it has launched before: one entry, "launches".
  std::vector<TimelineEntry> critical_path;
};

/// Takes a step apart as all are after very many: see steady_steps(). Deterministic. REQUIRES a
/// graph of make_step_graph().
IterationCost iteration_cost(const StepGraph& graph);

}  // namespace neuroshard
