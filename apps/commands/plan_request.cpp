#include "apps/commands/plan_request.h"

#include <utility>

#include "apps/console/output.h"
#include "apps/console/words.h"
#include "apps/flags/exchange_flag.h"
#include "engine/core/algorithm_name.h"
#include "engine/cost_model/first_lacking.h"
#include "engine/planner/algorithms.h"
#include "io/formats/plan_export.h"

namespace neuroshard::apps {

void PlanRequest::declare(FlagSet& flags) {
  flags.text("tables", "FILE", "tables to place; - = stdin", &tables_).required().reads();
  declare_devices(flags, &cluster.devices);
  declare_device_memory(flags, &cluster.memory_bytes);
  declare_host_memory(flags, &cluster.host_memory_bytes);
  declare_buffers(flags, &buffers_);
  declare_batch_size(flags, &batch_size_);
  declare_cost_model(flags, &cost_model_);
  robust_.declare(flags);
  const std::vector<std::string> algorithms = all_algorithm_names();
  flags.choice("algorithm", "NAME",
               "one of " + join(algorithms, ", ") +
                   "; where --format has no place for the default's plan, the cheapest of the "
                   "baselines' that it has one for",
               &search.options.algorithm, algorithms);
  policy_.declare(flags);
  declare_search(flags, &search,
                 "no more than --target or --format takes: even for torchrec and hugectr; ");
  flags
      .text("output", "FILE", "write the plan to a file; - = to stdout, and nothing else there",
            &output)
      .writes();
  declare_export_flags(flags, &exported, "");
  declare_bandwidths(flags, &bandwidths_);
  declare_exchange(flags, &exchange_, "; limits are then those of each of two searches");
  dense_.declare(flags);
}

Result<PlanInputs> PlanRequest::read(const FlagSet& flags) {
  NEUROSHARD_RETURN_IF_ERROR(check_export_flags(exported, output.has_value()));
  NEUROSHARD_RETURN_IF_ERROR(check_target());
  NEUROSHARD_RETURN_IF_ERROR(read_exchange());
  NEUROSHARD_RETURN_IF_ERROR(policy_.apply(flags, {&search.options.algorithm, 1}, &search.options));
  PlanInputs inputs;
  NEUROSHARD_ASSIGN_OR_RETURN(inputs.loaded, load_workload(tables_, batch_size_));
  cluster.buffers = buffers_of(buffers_);
  cluster.devices_per_host = exported.options.devices_per_host;
  NEUROSHARD_ASSIGN_OR_RETURN(inputs.models, load_models(flags));
  for (const NamedCostModels& one : inputs.models) {
    NEUROSHARD_RETURN_IF_ERROR(check_batch(one.models, inputs.loaded, tables_, batch_size_));
  }
  note_if_any(inputs.loaded.batch_note);
  exported.options.table_modules = inputs.loaded.modules;
  NEUROSHARD_RETURN_IF_ERROR(check_written(inputs.loaded.workload));
  settle(&search);
  search.options.trainer = rules();
  note_flags(flags, inputs);
  return inputs;
}

std::string PlanRequest::host_memory_fault() const {
  return io::host_memory_fault(trainer(), exported.options);
}

/// Of the trainer and, where that does not read the file, what the file has a place for.
TrainerRules PlanRequest::rules() const {
  if (trainer() == exported.format) return io::trainer_rules(trainer(), exported.options);
  TrainerRules rules = io::target_rules(trainer(), exported.options);
  rules.hot_rows &= io::trainer_rules(exported.format, {}).hot_rows;
  return rules;
}

/// A trainer's file is for no other one.
Status PlanRequest::check_target() const {
  if (!search.target || !io::is_for_trainers(exported.format) ||
      io::trainer_rules(exported.format, {}) == io::trainer_rules(*search.target, {})) {
    return {};
  }
  return invalid_input("--target: found '" + *search.target + "' with --format " + exported.format +
                       ", expected the trainer that reads it, or json");
}

Status PlanRequest::read_exchange() {
  NEUROSHARD_ASSIGN_OR_RETURN(const ExchangeAsked asked, exchange_of(exchange_));
  NEUROSHARD_RETURN_IF_ERROR(robust_.check(asked));
  cluster.exchange = asked.format;
  any_exchange_ = asked.any;
  return {};
}

/// Those of --robust, or the one of --cost-model.
Result<std::vector<NamedCostModels>> PlanRequest::load_models(const FlagSet& flags) const {
  NEUROSHARD_ASSIGN_OR_RETURN(std::vector<std::string> names, robust_.names(flags));
  if (names.empty()) names.push_back(cost_model_);
  std::vector<NamedCostModels> all;
  for (const std::string& name : names) {
    NEUROSHARD_ASSIGN_OR_RETURN(
        NamedCostModels models,
        load_models_for_hosts(name, {cluster.devices_per_host}, cluster.devices, bandwidths_));
    all.push_back(std::move(models));
  }
  NEUROSHARD_RETURN_IF_ERROR(dense_.apply(all));
  return all;
}

/// What a trainer's file, or the trainer, has no place for whatever the plan.
Status PlanRequest::check_written(const Workload& workload) {
  if (!output && !search.target) return {};
  NEUROSHARD_RETURN_IF_ERROR(Hosts{cluster.devices_per_host}.check(cluster.devices));
  NEUROSHARD_RETURN_IF_ERROR(io::check_exportable(trainer(), workload, cluster.devices,
                                                  exported.options, cluster.exchange));
  ExchangeAsked asked{cluster.exchange, any_exchange_};
  NEUROSHARD_RETURN_IF_ERROR(
      keep_to_target(trainer(), workload, cluster.devices, exported.options, &asked));
  any_exchange_ = asked.any;
  return {};
}

/// What the trainer or the cost models do not know is taken back. REQUIRES settled flags.
void PlanRequest::note_flags(const FlagSet& flags, const PlanInputs& inputs) {
  const std::vector<NamedCostModels>& models = inputs.models;
  note_unused_flags(flags, exported.format);
  const bool kept = output && exported.format == io::kNativeFormat;
  note_unknown_hosts(flags, first_knowing(&Capabilities::hosts, models, &NamedCostModels::models),
                     kept ? "placements of later exports" : changed_by_hosts(exported.format));
  if (cluster.devices_per_host == 0) note_usual_hosts(exported.format, cluster.devices);
  note_unknown_bandwidths(
      flags, first_knowing(&Capabilities::settable_bandwidths, models, &NamedCostModels::models));
  limit_host_memory(flags,
                    first_lacking(&Capabilities::host_memory, models, &NamedCostModels::models),
                    host_memory_fault(), &cluster);
  note_search_flags(flags, search, {&search.options.algorithm, 1}, models, exported.format);
  const auto tables = static_cast<std::int64_t>(inputs.loaded.workload.tables.size());
  policy_.note_other_training(models.front(), cluster.devices, tables, tables);
}

}  // namespace neuroshard::apps
