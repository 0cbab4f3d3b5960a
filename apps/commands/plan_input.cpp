#include "apps/commands/plan_input.h"

#include <algorithm>

#include "apps/console/output.h"
#include "apps/console/words.h"
#include "engine/core/cluster.h"
#include "engine/cost_model/capabilities.h"
#include "engine/planner/planner.h"
#include "io/formats/plan_export.h"

namespace neuroshard::apps {

FlagSet::Flag& declare_plan_input(FlagSet& flags, PlanInputFlags* out) {
  flags.text("tables", "FILE", "the tables of the plan; - = stdin", &out->tables)
      .required()
      .reads();
  FlagSet::Flag& plan =
      flags
          .text("plan", "FILE", "a plan: of `neuroshard plan`, TorchRec's JSON or HugeCTR's lists",
                &out->plan)
          .required()
          .reads("plan");
  flags
      .integer("devices", "number of devices, where the plan does not hold it", &out->devices, 1,
               kMaxDevices)
      .default_text("the plan's");
  declare_batch_size(flags, &out->batch_size);
  return plan;
}

Result<PlanAndTables> load_plan_and_tables(const PlanInputFlags& flags, io::PlanUse use) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::PlanInput plan, io::read_plan_input(flags.plan, use));
  std::optional<std::int64_t> batch_size = flags.batch_size;
  // The plan says which batch it is for; the tables' own value may have been overridden.
  if (!batch_size && plan.batch_size() > 0) batch_size = plan.batch_size();
  NEUROSHARD_ASSIGN_OR_RETURN(LoadedWorkload loaded, load_workload(flags.tables, batch_size));
  return PlanAndTables{std::move(plan), std::move(loaded)};
}

Result<PlanAndTables> load_plan_and_new_tables(const PlanInputFlags& flags) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::PlanInput plan,
                              io::read_plan_input(flags.plan, io::PlanUse::kBind));
  NEUROSHARD_ASSIGN_OR_RETURN(LoadedWorkload loaded, load_workload(flags.tables, flags.batch_size));
  const std::int64_t before = plan.batch_size();
  if (!flags.batch_size && before > 0 && before != loaded.workload.batch_size) {
    print_note(plan.source + ": was made for a batch of " + with_commas(before) +
               ", the tables' is " + with_commas(loaded.workload.batch_size) +
               "; --batch-size says otherwise");
  }
  return PlanAndTables{std::move(plan), std::move(loaded)};
}

void note_other_tables(const PlanAndTables& input) {
  const std::string made_of = input.plan.provenance().input_sha256;
  if (made_of.empty() || made_of == input.loaded.sha256) return;
  print_note(input.plan.source + ": was made of another table file (its sha256 differs)");
}

Result<io::PlanDocument> bind_to_any(const PlanAndTables& input, std::int32_t devices,
                                     io::PlanAge age, RowDeal deal) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::BoundPlan bound,
                              io::bind_plan(input.plan, input.loaded.workload, devices, age, deal));
  for (const std::string& note : bound.notes) print_note(note);
  return std::move(bound.document);
}

Result<io::PlanDocument> bind(const PlanAndTables& input, std::int32_t devices) {
  Result<io::PlanDocument> document = bind_to_any(input, devices);
  if (document.ok()) note_other_tables(input);
  return document;
}

void set_plan_buffers(const std::optional<std::string>& word, io::PlanDocument& document) {
  document.buffers = buffers_of(word, document.buffers);
}

Hosts hosts_of(std::int32_t given, const PlanAndTables& input, const io::PlanDocument& document) {
  if (given != 0) return {given};
  return {document.places.devices_per_host, input.plan.source};
}

void note_lost_places(const PlanAndTables& input, const io::PlanDocument& document,
                      std::string_view format) {
  const std::string lost = io::lost_places(format, document);
  if (lost.empty()) return;
  print_note(input.plan.source + ": " + std::string(format) + " has no place for its " + lost +
             ", they are not written");
}

Result<PlanCost> costs_of(const PlanAndTables& input, const Plan& plan,
                          const NamedCostModels& named, const Cluster& cluster) {
  const CostModels& models = named.models;
  const bool row_shards = std::any_of(
      plan.shards.begin(), plan.shards.end(),
      [&](const Shard& shard) { return has_part_of_rows(input.loaded.workload, shard); });
  if (row_shards && capabilities(models).row_splits == RowSplits::kOff) {
    print_note(input.plan.source +
               ": has row shards, of which the cost model has seen none: what "
               "it says of them is a guess");
  }
  Result<PlanCost> cost = simulate(input.loaded.workload, plan, models, cluster);
  if (!cost.ok()) return cost.status().with_context(input.plan.source);
  note_guesses(named, {&plan.devices, 1}, input.loaded.workload, cost->per_device);
  return cost;
}

}  // namespace neuroshard::apps
