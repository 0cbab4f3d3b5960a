#include "io/traces/kineto_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/traces/exchange_halves.h"
#include "io/traces/kineto_events.h"
#include "io/traces/lookup_times.h"

namespace neuroshard::io {
namespace {

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
  std::optional<std::int64_t> samples{};
  std::vector<const ExchangeEvent*> floats{};  ///< by their start
  std::vector<TimeRange> by_gloo{};            ///< the same, as gloo's threads do them
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
  if (!lookup.columns) return {};
  ++sums.shaped;
  sums.dims += *lookup.columns;
  if (!lookup.samples) return {};
  if (sums.samples.value_or(*lookup.samples) != *lookup.samples) {
    return invalid_input("found gradients of " + std::to_string(*lookup.samples) +
                         " samples, expected " + std::to_string(*sums.samples) + " as before");
  }
  sums.samples = lookup.samples;
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
    sums.floats.push_back(&exchange);
  }
  for (const TimeRange& time : events.by_gloo) {
    if (step.has(time.start)) sums.by_gloo.push_back(time);
  }
  std::sort(sums.floats.begin(), sums.floats.end(),
            [](const auto* a, const auto* b) { return a->op.time.start < b->op.time.start; });
  std::sort(sums.by_gloo.begin(), sums.by_gloo.end(),
            [](const TimeRange& a, const TimeRange& b) { return a.start < b.start; });
  return sums;
}

/// What a step says of shapes; later ones have to say the same of columns and batch.
Status add_shapes(const StepSums& sums, bool is_first, KinetoRank& rank) {
  std::optional<std::int64_t> dims;
  std::optional<std::int64_t> samples;
  if (sums.shaped == sums.backwards && (sums.shaped > 0 || sums.forwards == 0)) {
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

/// What all steps have of something for each rank.
class RankSums {
 public:
  void add(const std::vector<std::int64_t>& values) {
    if (steps_++ == 0) sums_.resize(values.size());
    fits_ &= !values.empty() && values.size() == sums_.size();
    for (std::size_t rank = 0; fits_ && rank < values.size(); ++rank) {
      sums_[rank] += static_cast<double>(values[rank]);
    }
  }
  /// Empty where not all of so many steps have it.
  [[nodiscard]] std::vector<std::int64_t> mean(std::int64_t steps) const {
    std::vector<std::int64_t> means;
    if (!fits_ || steps_ != steps) return means;
    for (const double sum : sums_) means.push_back(std::llround(sum / static_cast<double>(steps)));
    return means;
  }

 private:
  std::vector<double> sums_;
  std::int64_t steps_ = 0;
  bool fits_ = true;
};

/// What all steps have taken.
struct RunSums {
  double forward_us = 0;
  double backward_us = 0;
  double forward_exchange_us = 0;
  double backward_exchange_us = 0;
  double lookups = 0;
  RankSums lookups_sent{};
  RankSums forward_bytes{};
  RankSums backward_bytes{};
  std::int64_t timed = 0;      ///< steps whose lookups have times of both passes, or that have none
  std::int64_t halved = 0;     ///< steps that say which exchanges are forward
  bool one_format = true;      ///< in those steps
  std::int64_t exchanged = 0;  ///< steps with times of both exchanges
  std::int64_t counted = 0;    ///< steps that say their lookups
};

/// Indices go where their tables are: as many come as are looked up here.
void add_lookups_sent(const StepSums& sums, RunSums& run) {
  if (sums.checks != sums.forwards) return;
  for (auto last = sums.integers.rbegin(); last != sums.integers.rend(); ++last) {
    std::int64_t received = 0;
    for (const std::int64_t values : (*last)->received) received += values;
    if (received == sums.lookups) return run.lookups_sent.add((*last)->sent);
  }
}

/// Adds what a step's exchanges send, and their times where it has them.
void add_exchanges(const StepSums& sums, const LookupTimes& times, RunSums& run, KinetoRank& rank) {
  add_lookups_sent(sums, run);
  std::vector<TracedExchange> all;
  for (const ExchangeEvent* own : sums.floats) {
    all.push_back({*own->precision, own->sent, own->received});
  }
  const std::optional<ExchangeHalves> halves = exchange_halves(all);
  if (!halves) return;
  const auto formats = std::pair(halves->forward.precision, halves->backward.precision);
  if (run.halved++ == 0) std::tie(rank.forward, rank.backward) = formats;
  run.one_format &= formats == std::pair(rank.forward, rank.backward);
  run.forward_bytes.add(halves->forward.bytes);
  run.backward_bytes.add(halves->backward.bytes);
  std::array<double, 2> us{};
  bool timed = true;
  for (std::size_t k = 0; k < all.size(); ++k) {
    double own = times.kernels_us(sums.floats[k]->op);
    if (sums.by_gloo.size() == all.size()) own = sums.by_gloo[k].us;
    us[2 * k / all.size()] += own;
    timed &= own > 0;
  }
  run.forward_exchange_us += us[0];
  run.backward_exchange_us += us[1];
  run.exchanged += timed ? 1 : 0;
}

Status add_step(const StepSums& sums, const LookupTimes& times, RunSums& run, KinetoRank& rank) {
  if (sums.backwards != sums.forwards) {
    return invalid_input("found " + std::to_string(sums.backwards) +
                         " backward passes of fused lookups in a step, expected " +
                         std::to_string(sums.forwards) + " as forward");
  }
  NEUROSHARD_RETURN_IF_ERROR(add_shapes(sums, rank.steps == 0, rank));
  add_exchanges(sums, times, run, rank);
  const bool timed = sums.forward_us > 0 && sums.backward_us > 0;
  run.timed += timed || sums.forwards == 0 ? 1 : 0;
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
  if (run.halved < rank.steps || !run.one_format) rank.forward = rank.backward = std::nullopt;
  rank.step.lookups_sent = run.lookups_sent.mean(rank.steps);
  rank.step.forward_bytes = run.forward_bytes.mean(rank.steps);
  rank.step.backward_bytes = run.backward_bytes.mean(rank.steps);
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
  rank.has_tables = !events.lookups.empty();
  RunSums run;
  for (const TimeRange& step : events.steps) {
    NEUROSHARD_ASSIGN_OR_RETURN(const StepSums sums, sums_of(events, times, step));
    // Else a mark of a step that was not traced whole.
    const bool whole = rank.has_tables ? sums.forwards > 0 : !sums.floats.empty();
    if (whole) NEUROSHARD_RETURN_IF_ERROR(add_step(sums, times, run, rank));
  }
  if (rank.steps == 0) {
    return invalid_input(
        "found no operator fbgemm::split_embedding_codegen_lookup_*, expected FBGEMM's fused "
        "lookups, or exchanges of a rank without tables");
  }
  set_means(run, rank);
  return {};
}

}  // namespace neuroshard::io
