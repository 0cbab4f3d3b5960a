// What each table of a plan takes, and what else could be done with it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/boundary.h"
#include "engine/api/callback_sink.h"
#include "engine/api/handles.h"
#include "engine/api/inputs.h"
#include "engine/api/numbered_plan.h"
#include "engine/api/planner_log.h"
#include "engine/api/tables.h"
#include "engine/planner/explain/explain_plan.h"

namespace neuroshard::api {
namespace {

std::vector<neuroshard_shard> c_shards(const TableLayout& layout) {
  std::vector<neuroshard_shard> shards;
  shards.reserve(layout.size());
  for (const Shard& shard : layout) shards.push_back(c_shard(shard));
  return shards;
}

Result<ExplainOptions> read_options(const neuroshard_explain_options& given, std::size_t tables) {
  ExplainOptions options;
  if (given.table_count > tables) {
    return invalid_input("options.table_count: found " + std::to_string(given.table_count) +
                         ", expected at most the workload's " + std::to_string(tables));
  }
  if (given.table_count > 0) {
    NEUROSHARD_RETURN_IF_ERROR(require(given.tables, "options.tables"));
    options.tables.assign(given.tables, given.tables + given.table_count);
  }
  if (given.most != 0) options.most = given.most;
  if (given.cancellation != nullptr) options.cancel = &given.cancellation->token;
  return options;
}

std::unique_ptr<neuroshard_explanation> handle_of(const std::vector<TableExplanation>& tables) {
  auto handle = std::make_unique<neuroshard_explanation>();
  for (const TableExplanation& table : tables) {
    neuroshard_explained_table own;
    own.shards = c_shards(table.shards);
    own.c.table = table.table;
    own.c.memory_bytes = table.bytes;
    own.c.alone_ms = table.alone_ms;
    own.c.adds_ms = table.adds_ms;
    own.c.considered = table.considered;
    if (table.next_best) {
      own.next_best = c_shards(table.next_best->shards);
      own.c.next_best_ms = table.next_best->cost_ms;
    }
    handle->tables.push_back(std::move(own));
  }
  return handle;
}

}  // namespace
}  // namespace neuroshard::api

using namespace neuroshard;
using namespace neuroshard::api;

neuroshard_status neuroshard_planner_explain(const neuroshard_planner* planner,
                                             const neuroshard_workload* workload,
                                             const neuroshard_plan* plan,
                                             const neuroshard_cluster* cluster,
                                             const neuroshard_explain_options* options,
                                             neuroshard_explanation** explanation,
                                             neuroshard_error* error) {
  return make_handle(explanation, error, [&]() -> Result<std::unique_ptr<neuroshard_explanation>> {
    NEUROSHARD_REQUIRE(planner);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_REQUIRE(plan);
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenCluster given, read_cluster(cluster));
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_explain_options wanted,
                                read_optional_struct(options, "options"));
    NEUROSHARD_ASSIGN_OR_RETURN(ExplainOptions own,
                                read_options(wanted, workload->workload.tables.size()));
    NEUROSHARD_ASSIGN_OR_RETURN(
        const io::PlanDocument document,
        numbered_for(*workload, *plan, "plan", io::UnknownTables::kRenamed, warnings_of(*planner)));
    NEUROSHARD_RETURN_IF_ERROR(check_same_batch(*workload, *plan));
    NEUROSHARD_RETURN_IF_ERROR(check_same_devices(given, *plan));
    NEUROSHARD_RETURN_IF_ERROR(check_one_exchange(given));
    const Cluster devices = given.like(document);
    own.buffers = devices.buffers;
    own.devices_per_host = devices.devices_per_host;
    own.exchange = devices.exchange;
    CallbackSink progress(wanted.progress, wanted.progress_user_data);
    own.progress = &progress;
    warn_of_guesses(*planner, document.plan.devices, workload->workload);
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<TableExplanation> tables,
                                explain_plan(workload->workload, document.plan,
                                             planner->models->models, devices.memory_bytes, own));
    return handle_of(tables);
  });
}

size_t neuroshard_explanation_table_count(const neuroshard_explanation* explanation) {
  return explanation == nullptr ? 0 : explanation->tables.size();
}

neuroshard_status neuroshard_explanation_get_table(const neuroshard_explanation* explanation,
                                                   size_t index,
                                                   neuroshard_table_explanation* table,
                                                   neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(explanation);
    NEUROSHARD_RETURN_IF_ERROR(check_index(index, explanation->tables.size()));
    const neuroshard_explained_table& own = explanation->tables[index];
    neuroshard_table_explanation local = own.c;
    local.shards = own.shards.data();
    local.shard_count = own.shards.size();
    local.next_best = own.next_best.empty() ? nullptr : own.next_best.data();
    local.next_best_count = own.next_best.size();
    return write_struct(table, local, "table");
  });
}

void neuroshard_explanation_destroy(neuroshard_explanation* explanation) { delete explanation; }
