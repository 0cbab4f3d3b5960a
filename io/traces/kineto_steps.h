#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/core/exchange_format.h"
#include "engine/core/status.h"
#include "io/traces/step_trace.h"

namespace neuroshard::io {

struct KinetoEvents;

/// What one rank's trace by PyTorch's profiler says of its tables, a mean over its steps.
struct KinetoRank {
  RankStep step;
  std::int64_t steps = 1;
  bool has_tables = true;
  std::optional<std::int64_t> rank{};        ///< where the trace says it
  std::optional<std::int64_t> batch_size{};  ///< global
  std::optional<Precision> forward{};        ///< of the exchanges
  std::optional<Precision> backward{};
  std::string hardware{};  ///< the GPU's name; "" of a trace of CPUs alone

  friend bool operator==(const KinetoRank&, const KinetoRank&) = default;
};

/// Sets the rank's number of steps, their means, batch and exchanges by what a trace has, all of
/// which is one step where no step is marked. Sorts the events' operators. Errors: kInvalidInput
/// for passes or steps that contradict each other, and where no step has a fused lookup, nor one of
/// a rank without them an exchange.
Status add_kineto_steps(KinetoEvents& events, KinetoRank& rank);

}  // namespace neuroshard::io
