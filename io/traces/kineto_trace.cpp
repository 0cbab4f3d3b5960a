#include "io/traces/kineto_trace.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/file.h"
#include "io/json/json.h"
#include "io/text.h"
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
    return by_kernels_ ? kernels_us(op) : op.time.end - op.time.start;
  }

  /// Of all kernels that were launched there.
  [[nodiscard]] double kernels_us(const OperatorEvent& op) const {
    double sum = 0;
    auto inside = std::lower_bound(operators_.begin(), operators_.end(), op);
    for (; inside != operators_.end() && inside->thread == op.thread; ++inside) {
      if (inside->time.start > op.time.end) break;
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
    forward = sums.first_by_gloo->end - sums.first_by_gloo->start;
    backward = sums.last_by_gloo->end - sums.last_by_gloo->start;
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
  rank.step.forward_ms = mean_ms(run.forward_us);
  rank.step.backward_ms = mean_ms(run.backward_us);
  if (run.counted == rank.steps) {
    rank.step.lookups = static_cast<std::int64_t>(run.lookups / steps + 0.5);
  }
  if (run.exchanged < rank.steps) return;
  rank.step.forward_exchange_ms = mean_ms(run.forward_exchange_us);
  rank.step.backward_exchange_ms = mean_ms(run.backward_exchange_us);
}

Status add_steps(KinetoEvents& events, KinetoRank& rank) {
  const LookupTimes times(events);
  if (events.steps.empty()) {
    const double most = std::numeric_limits<double>::infinity();
    events.steps.push_back({-most, most});
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

/// The first GPU's name, as people are to see it.
Result<std::string> hardware_in(JsonObject& root) {
  const auto devices = root.find("deviceProperties");
  if (!devices) return std::string();
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray all, devices->array());
  if (all.size() == 0) return std::string();
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject device, (*all.begin()).object());
  return device.shown_text("name");
}

Result<std::optional<std::int64_t>> rank_in(JsonObject& root) {
  const auto run = root.find("distributedInfo");
  if (!run) return std::optional<std::int64_t>();
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject info, run->object());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t rank,
                              info.integer("rank", 0, kMostTraceRanks - 1));
  return std::optional(rank);
}

/// Puts a rank's trace where it belongs.
Status place_rank(const std::string& path, KinetoRank own,
                  std::map<std::int64_t, std::pair<std::string, KinetoRank>>& ranks) {
  const std::string name = file_name(path);
  if (!own.rank) own.rank = rank_in_name(std::string_view(name).substr(0, name.rfind('.')));
  if (!own.rank) {
    return invalid_input(path +
                         ": found no rank in the trace nor in the file's name, expected one");
  }
  const std::int64_t rank = *own.rank;
  const auto [known, is_new] = ranks.emplace(rank, std::pair(path, std::move(own)));
  if (is_new) return {};
  return invalid_input(path + ": is of rank " + std::to_string(rank) + ", as " +
                       known->second.first + ", expected one file of each");
}

/// Adds what a rank says to what those before it have said.
Status join_rank(const KinetoRank& rank, StepTrace& trace) {
  if (trace.ranks.empty()) {
    trace.steps = rank.steps;
    trace.batch_size = rank.batch_size;
    trace.hardware = rank.hardware;
    if (rank.forward && rank.backward)
      trace.exchange = ExchangeFormat{*rank.forward, *rank.backward};
  }
  if (trace.batch_size != rank.batch_size || trace.steps != rank.steps) {
    return invalid_input(
        "found other steps or another batch than of rank 0, expected traces of "
        "one run");
  }
  trace.ranks.push_back(rank.step);
  return {};
}

}  // namespace

Result<KinetoRank> parse_kineto_trace(std::string_view bytes, const std::string& source) {
  NEUROSHARD_RETURN_IF_ERROR(check_unpacked(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, document.root().object());
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray all, root.array("traceEvents"));
  KinetoEvents events;
  for (const JsonValue event : all) NEUROSHARD_RETURN_IF_ERROR(add_kineto_event(event, events));
  KinetoRank rank;
  NEUROSHARD_ASSIGN_OR_RETURN(rank.rank, rank_in(root));
  NEUROSHARD_ASSIGN_OR_RETURN(rank.hardware, hardware_in(root));
  const Status added = add_steps(events, rank);
  if (!added.ok()) return added.with_context(source);
  return rank;
}

Result<StepTrace> read_kineto_steps(const std::string& folder) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::string> files, files_in(folder, ".json"));
  std::map<std::int64_t, std::pair<std::string, KinetoRank>> ranks;
  for (const std::string& path : files) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(path));
    NEUROSHARD_ASSIGN_OR_RETURN(KinetoRank rank, parse_kineto_trace(bytes, path));
    NEUROSHARD_RETURN_IF_ERROR(place_rank(path, std::move(rank), ranks));
  }
  StepTrace trace;
  trace.source = "kineto";
  for (const auto& [number, own] : ranks) {
    if (number != std::ssize(trace.ranks))
      return missing_rank(folder, std::ssize(trace.ranks), ranks.rbegin()->first);
    const Status joined = join_rank(own.second, trace);
    if (!joined.ok()) return joined.with_context(own.first);
    for (const auto* list : {&own.second.step.forward_bytes, &own.second.step.backward_bytes}) {
      if (list->empty() || list->size() == ranks.size()) continue;
      return invalid_input(own.first + ": found exchanges of " + std::to_string(list->size()) +
                           " ranks, expected " + std::to_string(ranks.size()) +
                           ", of which there are files");
    }
  }
  return trace;
}

Status add_kineto_times(const StepTrace& times, StepTrace& shapes) {
  if (times.ranks.size() != shapes.ranks.size()) {
    return invalid_input("found profiler traces of " + std::to_string(times.ranks.size()) +
                         " ranks, expected " + std::to_string(shapes.ranks.size()) +
                         " as of the execution traces");
  }
  const bool batches = times.batch_size && shapes.batch_size;
  if (batches && *times.batch_size != *shapes.batch_size) {
    return invalid_input("found profiler traces of a batch of " +
                         std::to_string(*times.batch_size) + ", expected " +
                         std::to_string(*shapes.batch_size) + " as of the execution traces");
  }
  for (std::size_t k = 0; k < times.ranks.size(); ++k) {
    const RankStep& from = times.ranks[k];
    RankStep& to = shapes.ranks[k];
    if (from.dims && to.dims && *from.dims != *to.dims) {
      return invalid_input("rank " + std::to_string(k) + ": found " + std::to_string(*from.dims) +
                           " columns in the profiler's trace, expected " +
                           std::to_string(*to.dims) + " as in the execution trace");
    }
    to.forward_ms = from.forward_ms;
    to.backward_ms = from.backward_ms;
    to.forward_exchange_ms = from.forward_exchange_ms;
    to.backward_exchange_ms = from.backward_exchange_ms;
  }
  shapes.hardware = times.hardware;
  shapes.steps = times.steps;
  shapes.source = "pytorch and kineto";
  return {};
}

}  // namespace neuroshard::io
