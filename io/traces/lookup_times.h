#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "io/traces/kineto_events.h"

namespace neuroshard::io {

/// Times of a profiler's operators by the kernels that they launched. The events must outlive it.
class LookupTimes {
 public:
  /// Sorts the events' operators.
  explicit LookupTimes(KinetoEvents& events);

  /// Microseconds: of the operator itself where the trace has no kernels.
  [[nodiscard]] double us(const OperatorEvent& op) const {
    return by_kernels_ ? kernels_us(op) : op.time.us;
  }
  /// Of all kernels that were launched there.
  [[nodiscard]] double kernels_us(const OperatorEvent& op) const;

 private:
  std::vector<OperatorEvent>& operators_;
  std::unordered_map<std::int64_t, double> kernels_;  ///< microseconds by operator
  bool by_kernels_ = false;
};

}  // namespace neuroshard::io
