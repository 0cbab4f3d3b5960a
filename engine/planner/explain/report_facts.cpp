#include "engine/planner/explain/report_facts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/offload.h"
#include "engine/cost_model/capabilities.h"
#include "engine/planner/explain/explain_plan.h"
#include "engine/planner/explain/layout_text.h"
#include "engine/planner/planner.h"

namespace neuroshard {
namespace {

/// More than any device has; sums over all devices stay far from the largest integer.
constexpr std::int64_t kAnyMemory = std::int64_t{1} << 46;

std::string word_for(const NamedCostModels& models) {
  if (models.models.torchrec) return "formula";
  return std::string(word_of(origin_of(models.models).provenance));
}

/// What no plan of this memory or any costs less than. Halves of rows, which it does not cover, may
/// cost less: then there is none.
std::optional<double> bound_of(const Workload& workload, const io::PlanDocument& document,
                               std::int32_t devices_per_host, const CostModels& models) {
  if (has_offloaded(document.plan) || !capabilities(models).additive) return std::nullopt;
  const Cluster cluster{.devices = document.plan.devices,
                        .memory_bytes = kAnyMemory,
                        .buffers = document.buffers,
                        .devices_per_host = devices_per_host,
                        .exchange = document.exchange};
  const auto bound =
      cost_lower_bound(workload, cluster, models, RowSplits::kAny, capabilities(models).replicas);
  if (!bound.ok() || !*bound || **bound > document.cost.cost_ms) return std::nullopt;
  return **bound;
}

io::TableFacts facts_of(const Workload& workload, const TableExplanation& own) {
  io::TableFacts facts{.table = own.table, .alone_ms = own.alone_ms, .adds_ms = own.adds_ms};
  if (!own.next_best) return facts;
  const Table& table = workload.tables[static_cast<std::size_t>(own.table)];
  facts.next_best = layout_text(table, own.next_best->shards);
  facts.next_cost_ms = own.next_best->cost_ms;
  return facts;
}

}  // namespace

Status add_report_facts(const Workload& workload, const io::PlanDocument& document,
                        std::int32_t devices_per_host, const NamedCostModels& models,
                        ProgressSink* progress, const CancelToken* cancel,
                        io::PlanExportOptions& options) {
  options.cost_word = word_for(models);
  options.cost_origin = describe_costs(models, document.plan.devices);
  options.lower_bound_ms = bound_of(workload, document, devices_per_host, models.models);
  NEUROSHARD_ASSIGN_OR_RETURN(options.shard_ms, shard_costs(workload, document.plan, models.models,
                                                            {.devices_per_host = devices_per_host,
                                                             .exchange = document.exchange}));
  const std::int64_t limit = options.memory_limit > 0 ? options.memory_limit : kAnyMemory;
  const auto told = explain_plan(workload, document.plan, models.models, limit,
                                 {.most = kExplainedTables,
                                  .buffers = document.buffers,
                                  .devices_per_host = devices_per_host,
                                  .exchange = document.exchange,
                                  .progress = progress,
                                  .cancel = cancel});
  options.facts.clear();
  if (told.status().code() == StatusCode::kInfeasible) return {};
  if (!told.ok()) return told.status();
  for (const TableExplanation& own : *told) options.facts.push_back(facts_of(workload, own));
  return {};
}

}  // namespace neuroshard
