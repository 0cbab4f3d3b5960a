#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/cost_model/cost_model_file.h"
#include "io/file.h"
#include "io/json/json.h"
#include "io/tables/tables.h"
#include "io/tables/tasks.h"
#include "tests/support/paths.h"

namespace neuroshard::test {

/// One task of the released code's runs, and what it found.
struct ReferenceTask {
  Workload workload;
  Plan plan;
  double cost_ms = 0;
  double seconds = 0;
  std::map<std::string, std::optional<double>> baselines;  ///< nothing: does not fit
};

struct ReferenceRun {
  std::int32_t devices = 0;
  CostModels models;
  std::vector<ReferenceTask> tasks;
};

/// The released code halves shards by number and then places them by number.
inline Plan reference_plan(const Workload& workload, io::JsonObject& result, std::int32_t devices) {
  Plan plan{devices, {}};
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    plan.shards.push_back(whole_table(workload, static_cast<std::int32_t>(table), 0));
  }
  const io::JsonArray splits = result.array("splits").value();
  for (const io::JsonValue split : splits) {
    const auto index = static_cast<std::size_t>(split.integer().value());
    Shard rest = plan.shards[index];
    plan.shards[index].column_end -= rest.dim() / 2;
    rest.column_begin = plan.shards[index].column_end;
    plan.shards.push_back(rest);
  }
  std::int32_t device = 0;
  const io::JsonArray shards = result.array("shards").value();
  for (const io::JsonValue value : shards) {
    const io::JsonArray members = value.array().value();
    for (const io::JsonValue index : members) {
      plan.shards[static_cast<std::size_t>(index.integer().value())].device = device;
    }
    ++device;
  }
  return plan;
}

/// The run on 4 or 8 devices, or nothing when the data folder is not there.
inline std::optional<ReferenceRun> reference_run(std::int32_t devices) {
  const std::string n = std::to_string(devices);
  const auto models = data_file("reference/cost_models_" + n + "_devices.safetensors");
  const auto pool_file = data_file("tables/dlrm856_table_configs.json");
  const auto tasks_file = data_file("reference/tasks_" + n + "_devices.txt");
  const auto results_file = data_file("reference/results_" + n + "_devices.json");
  if (!models || !pool_file || !tasks_file || !results_file) return std::nullopt;
  ReferenceRun run;
  run.devices = devices;
  run.models = parse_cost_models(io::read_file(*models).value(), *models).value();
  const io::TableFile pool = io::read_tables(*pool_file).value();
  const std::vector<io::Task> tasks = io::read_tasks(*tasks_file).value();
  const std::string text = io::read_file(*results_file).value();
  const io::JsonDocument document = io::JsonDocument::parse(text, *results_file).value();
  const io::JsonArray results = document.root().array().value();
  for (const io::JsonValue value : results) {
    io::JsonObject result = value.object().value();
    ReferenceTask task;
    task.workload = io::make_workload(pool, tasks[run.tasks.size()]).value();
    task.cost_ms = result.number("cost_ms").value();
    task.seconds = result.number("seconds").value();
    task.plan = reference_plan(task.workload, result, devices);
    io::JsonObject baselines = result.at("baselines").value().object().value();
    for (const char* name : {"size-greedy", "dim-greedy", "lookup-greedy", "size-lookup-greedy"}) {
      const io::JsonValue cost = baselines.at(name).value();
      task.baselines[name] = cost.kind() == io::JsonValue::Kind::kNull
                                 ? std::nullopt
                                 : std::optional<double>(cost.number().value());
    }
    run.tasks.push_back(std::move(task));
  }
  return run;
}

}  // namespace neuroshard::test
