#include "io/traces/kineto_trace.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "io/file.h"
#include "io/json/json.h"
#include "io/text.h"
#include "io/traces/kineto_events.h"
#include "io/traces/kineto_steps.h"

namespace neuroshard::io {
namespace {

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
  }
  if (!trace.batch_size) trace.batch_size = rank.batch_size;
  std::optional<ExchangeFormat> exchange = trace.exchange;
  if (rank.forward && rank.backward) exchange = ExchangeFormat{*rank.forward, *rank.backward};
  if (!trace.exchange) trace.exchange = exchange;
  const bool other_batch = rank.batch_size && trace.batch_size != rank.batch_size;
  if (other_batch || trace.steps != rank.steps || trace.exchange != exchange) {
    return invalid_input(
        "found other steps, another batch or exchanges in another format than of the ranks before, "
        "expected traces of one run");
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
  const Status added = add_kineto_steps(events, rank);
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
  const bool tables = std::any_of(ranks.begin(), ranks.end(),
                                  [](const auto& own) { return own.second.second.has_tables; });
  if (!tables) {
    return invalid_input(folder +
                         ": found no rank with FBGEMM's fused lookups, expected one or more");
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
