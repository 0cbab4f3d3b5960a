#include "io/traces/kineto_steps.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/traces/kineto_events.h"

namespace neuroshard::io {
namespace {

/// Times of lookups by what they launched.
class LookupTimes {
 public:
  explicit LookupTimes(KinetoEvents& events) : operators_(events.operators) {
    std::sort(operators_.begin(), operators_.end());
    for (const KernelEvent& kernel : events.kernels) kernels_[kernel.id] += kernel.us;
    by_kernels_ = !events.kernels.empty();
  }

  [[nodiscard]] double us(const OperatorEvent& op) const {
    return by_kernels_ ? kernels_us(op) : op.time.us;
  }

  /// Of all kernels that were launched there.
  [[nodiscard]] double kernels_us(const OperatorEvent& op) const {
    double sum = 0;
    auto inside = std::lower_bound(operators_.begin(), operators_.end(), op);
    for (; inside != operators_.end() && inside->thread == op.thread; ++inside) {
      // The next one may start where this one ends; this one may have no length.
      if (inside->time.start >= op.time.end() && inside->time.start > op.time.start) break;
      const auto own = inside->id < 0 ? kernels_.end() : kernels_.find(inside->id);
      if (own != kernels_.end()) sum += own->second;
    }
    return sum;
  }

 private:
  std::vector<OperatorEvent>& operators_;
  std::unordered_map<std::int64_t, double> kernels_;  ///< microseconds by operator
  bool by_kernels_ = false;
};

/// What one step has, summed up over its fused lookups.
struct StepSums {
  double forward_us = 0;
  double backward_us = 0;
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  std::int64_t lookups = 0;
  std::int64_t checks = 0;  ///< that say their lookups
  std::int64_t dims = 0;
  std::int64_t shaped = 0;  ///< backward passes that say their columns
  std::int64_t samples = 0;
  const ExchangeEvent* first = nullptr;  ///< of floating point
  const ExchangeEvent* last = nullptr;
  const TimeRange* first_by_gloo = nullptr;
  const TimeRange* last_by_gloo = nullptr;
  std::vector<const ExchangeEvent*> integers{};
};

/// Errors: passes of different batches.
Status add_lookup_event(const LookupEvent& lookup, const LookupTimes& times, StepSums& sums) {
  switch (lookup.kind) {
    case LookupEvent::Kind::kForward:
      ++sums.forwards;
      sums.forward_us += times.us(lookup.op);
      return {};
    case LookupEvent::Kind::kCheck:
      if (!lookup.lookups) return {};
      ++sums.checks;
      sums.lookups += *lookup.lookups;
      return {};
    case LookupEvent::Kind::kBackward:
      break;
  }
  ++sums.backwards;
  sums.backward_us += times.us(lookup.op);
  if (!lookup.samples) return {};
  if (sums.shaped > 0 && sums.samples != *lookup.samples) {
    return invalid_input("found gradients of " + std::to_string(*lookup.samples) +
                         " samples, expected " + std::to_string(sums.samples) + " as before");
  }
  ++sums.shaped;
  sums.samples = *lookup.samples;
  sums.dims += *lookup.columns;
  return {};
}

Result<StepSums> sums_of(const KinetoEvents& events, const LookupTimes& times,
                         const TimeRange& step) {
  StepSums sums;
  for (const LookupEvent& lookup : events.lookups) {
    if (!step.has(lookup.op.time.start)) continue;
    NEUROSHARD_RETURN_IF_ERROR(add_lookup_event(lookup, times, sums));
  }
  for (const ExchangeEvent& exchange : events.exchanges) {
    if (!step.has(exchange.op.time.start)) continue;
    if (!exchange.precision) {
      sums.integers.push_back(&exchange);
      continue;
    }
    const double start = exchange.op.time.start;
    if (sums.first == nullptr || start < sums.first->op.time.start) sums.first = &exchange;
    if (sums.last == nullptr || start > sums.last->op.time.start) sums.last = &exchange;
  }
  for (const TimeRange& time : events.by_gloo) {
    if (!step.has(time.start)) continue;
    if (sums.first_by_gloo == nullptr || time.start < sums.first_by_gloo->start) {
      sums.first_by_gloo = &time;
    }
    if (sums.last_by_gloo == nullptr || time.start > sums.last_by_gloo->start) {
      sums.last_by_gloo = &time;
    }
  }
  return sums;
}

/// What a step says of shapes; later ones have to say the same of columns and batch.
Status add_shapes(const StepSums& sums, bool is_first, KinetoRank& rank) {
  std::optional<std::int64_t> dims;
  std::optional<std::int64_t> samples;
  if (sums.shaped == sums.backwards && sums.shaped > 0) {
    dims = sums.dims;
    samples = sums.samples;
  }
  if (is_first) {
    rank.step.dims = dims;
    rank.batch_size = samples;
  }
  if (rank.step.dims == dims && rank.batch_size == samples) return {};
  return invalid_input("found steps of different columns or batches, expected one training run");
}

std::vector<std::int64_t> bytes_sent(const ExchangeEvent& exchange) {
  std::vector<std::int64_t> bytes;
  for (const std::int64_t values : exchange.sent) {
    bytes.push_back(static_cast<std::int64_t>(
        exchange_bytes(static_cast<double>(values), *exchange.precision)));
  }
  return bytes;
}

/// Indices go where their tables are: as many come as are looked up here.
void add_lookups_sent(const StepSums& sums, KinetoRank& rank) {
  if (sums.checks != sums.forwards) return;
  for (const ExchangeEvent* exchange : sums.integers) {
    std::int64_t received = 0;
    for (const std::int64_t values : exchange->received) received += values;
    if (received == sums.lookups) rank.step.lookups_sent = exchange->sent;
  }
}

/// Whether the step has both exchanges, with times.
bool add_exchanges(const StepSums& sums, const LookupTimes& times, KinetoRank& rank,
                   double& forward_us, double& backward_us) {
  add_lookups_sent(sums, rank);
  if (sums.first == nullptr || sums.first == sums.last) return false;
  rank.forward = sums.first->precision;
  rank.backward = sums.last->precision;
  rank.step.forward_bytes = bytes_sent(*sums.first);
  rank.step.backward_bytes = bytes_sent(*sums.last);
  double forward = times.kernels_us(sums.first->op);
  double backward = times.kernels_us(sums.last->op);
  if (sums.first_by_gloo != sums.last_by_gloo) {
    forward = sums.first_by_gloo->us;
    backward = sums.last_by_gloo->us;
  }
  forward_us += forward;
  backward_us += backward;
  return forward > 0 && backward > 0;
}

/// What all steps have taken.
struct RunSums {
  double forward_us = 0;
  double backward_us = 0;
  double forward_exchange_us = 0;
  double backward_exchange_us = 0;
  double lookups = 0;
  std::int64_t timed = 0;      ///< steps whose lookups have times of both passes
  std::int64_t exchanged = 0;  ///< steps with both exchanges
  std::int64_t counted = 0;    ///< steps that say their lookups
};

Status add_step(const StepSums& sums, const LookupTimes& times, RunSums& run, KinetoRank& rank) {
  if (sums.backwards != sums.forwards) {
    return invalid_input("found " + std::to_string(sums.backwards) +
                         " backward passes of fused lookups in a step, expected " +
                         std::to_string(sums.forwards) + " as forward");
  }
  NEUROSHARD_RETURN_IF_ERROR(add_shapes(sums, rank.steps == 0, rank));
  const bool exchanged =
      add_exchanges(sums, times, rank, run.forward_exchange_us, run.backward_exchange_us);
  run.timed += sums.forward_us > 0 && sums.backward_us > 0 ? 1 : 0;
  run.exchanged += exchanged ? 1 : 0;
  run.forward_us += sums.forward_us;
  run.backward_us += sums.backward_us;
  run.lookups += static_cast<double>(sums.lookups);
  run.counted += sums.checks == sums.forwards ? 1 : 0;
  ++rank.steps;
  return {};
}

void set_means(const RunSums& run, KinetoRank& rank) {
  const auto steps = static_cast<double>(rank.steps);
  const auto mean_ms = [&](double us) { return us / steps / 1e3; };
  if (run.timed == rank.steps) {
    rank.step.forward_ms = mean_ms(run.forward_us);
    rank.step.backward_ms = mean_ms(run.backward_us);
  }
  if (run.counted == rank.steps) {
    rank.step.lookups = static_cast<std::int64_t>(run.lookups / steps + 0.5);
  }
  if (run.exchanged < rank.steps) return;
  rank.step.forward_exchange_ms = mean_ms(run.forward_exchange_us);
  rank.step.backward_exchange_ms = mean_ms(run.backward_exchange_us);
}

}  // namespace

Status add_kineto_steps(KinetoEvents& events, KinetoRank& rank) {
  const LookupTimes times(events);
  if (events.steps.empty()) {
    using Limits = std::numeric_limits<double>;
    events.steps.push_back({Limits::lowest(), Limits::infinity()});
  }
  rank.steps = 0;
  RunSums run;
  for (const TimeRange& step : events.steps) {
    NEUROSHARD_ASSIGN_OR_RETURN(const StepSums sums, sums_of(events, times, step));
    if (sums.forwards == 0) continue;  // a mark of a step that was not traced whole
    NEUROSHARD_RETURN_IF_ERROR(add_step(sums, times, run, rank));
  }
  if (rank.steps == 0) {
    return invalid_input(
        "found no operator fbgemm::split_embedding_codegen_lookup_*, expected FBGEMM's fused "
        "lookups");
  }
  set_means(run, rank);
  return {};
}

}  // namespace neuroshard::io
