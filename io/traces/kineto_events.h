#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/exchange_format.h"
#include "engine/core/status.h"
#include "io/json/json.h"

namespace neuroshard::io {

/// Microseconds of a profiler's trace. The length is kept as the trace has it: of starts since 1970
/// doubles keep a quarter of a microsecond.
struct TimeRange {
  double start = 0;
  double us = 0;
  [[nodiscard]] double end() const { return start + us; }
  [[nodiscard]] bool has(double time) const { return start <= time && time < end(); }
};

/// An operator on the CPU, which may launch kernels.
struct OperatorEvent {
  std::int64_t thread = 0;
  TimeRange time;
  std::int64_t id = -1;  ///< by which kernels name it; -1: none

  friend bool operator<(const OperatorEvent& a, const OperatorEvent& b) {
    return std::pair(a.thread, a.time.start) < std::pair(b.thread, b.time.start);
  }
};

/// A lookup, forward or backward, or the check of its indices.
struct LookupEvent {
  enum class Kind { kForward, kBackward, kCheck } kind{};
  OperatorEvent op;
  std::optional<std::int64_t> samples{};  ///< of kBackward: rows of the gradient of pooled tables
  std::optional<std::int64_t> columns{};  ///< of kBackward: columns of the gradient
  std::optional<std::int64_t> lookups{};  ///< of kCheck: indices
};

struct KernelEvent {
  std::int64_t id = -1;  ///< of the operator that launched it; -1: not known
  double us = 0;
};

/// An all-to-all: values to each rank and from each; empty where the trace does not say them.
struct ExchangeEvent {
  OperatorEvent op;
  std::optional<Precision> precision{};  ///< nothing: lengths or indices
  std::vector<std::int64_t> sent{};
  std::vector<std::int64_t> received{};
};

/// What of a profiler's trace is about the embedding part.
struct KinetoEvents {
  std::vector<TimeRange> steps{};
  std::vector<OperatorEvent> operators{};
  std::vector<LookupEvent> lookups{};
  std::vector<KernelEvent> kernels{};
  std::vector<ExchangeEvent> exchanges{};
  std::vector<TimeRange> by_gloo{};  ///< all-to-alls of floating point, as gloo's threads do them
};

/// Adds an entry of "traceEvents". Errors: kInvalidInput naming the JSON path.
Status add_kineto_event(const JsonValue& value, KinetoEvents& events);

}  // namespace neuroshard::io
