#include "apps/commands/costed_plan.h"

#include <utility>

#include "apps/commands/plan_setting.h"
#include "apps/console/output.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/exchange_flag.h"
#include "apps/flags/host_flags.h"
#include "engine/core/check_step_memory.h"
#include "engine/core/step_memory.h"
#include "engine/cost_model/capability_words.h"
#include "engine/cost_model/plan_error.h"
#include "engine/planner/exchange/exchange_choice.h"
#include "engine/planner/memory_limits.h"

namespace neuroshard::apps {

void declare_costed_plan(FlagSet& flags, CostedPlanFlags* out) {
  declare_plan_input(flags, &out->input);
  declare_plan_memory(flags, &out->memory_bytes);
  declare_buffers(flags, &out->buffers).default_text("the plan's, or off");
  declare_cost_model(flags, &out->cost_model).default_text(kPlansCostModel);
  declare_devices_per_host(flags, &out->devices_per_host)
      .default_text("the plan's, or 8: " + torchrec_alone("goes by it"));
  declare_bandwidths(flags, &out->bandwidths, true);
  declare_exchange(flags, &out->exchange).default_text("the plan's, or fp32");
  out->dense.declare(flags);
}

Result<CostedPlan> load_costed_plan(const FlagSet& flags, const CostedPlanFlags& given) {
  NEUROSHARD_RETURN_IF_ERROR(exchange_of(given.exchange).status());
  NEUROSHARD_ASSIGN_OR_RETURN(PlanAndTables input, load_plan_and_tables(given.input));
  note_if_any(input.loaded.batch_note);
  NEUROSHARD_ASSIGN_OR_RETURN(io::PlanDocument document, bind(input, given.input.devices));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t memory_bytes,
                              required_device_memory(given.memory_bytes, input.plan));
  set_plan_buffers(given.buffers, document);
  const Workload& workload = input.loaded.workload;
  NEUROSHARD_RETURN_IF_ERROR(
      check_step_memory(workload, {document.buffers, workload.batch_size, document.plan.devices}));
  NEUROSHARD_RETURN_IF_ERROR(check_memory(workload, document.plan, memory_bytes, document.buffers)
                                 .with_context(input.plan.source));
  const Hosts hosts = hosts_of(given.devices_per_host, input, document);
  NEUROSHARD_ASSIGN_OR_RETURN(
      NamedCostModels models,
      cost_models_of(flags, given.cost_model, given.bandwidths, hosts, input.plan, document));
  NEUROSHARD_RETURN_IF_ERROR(given.dense.apply({&models, 1}));
  note_other_dense_model(input.plan, models);
  note_unknown_hosts(flags, models);
  note_unknown_bandwidths(flags, models);
  NEUROSHARD_ASSIGN_OR_RETURN(const ExchangeAsked asked,
                              exchange_of(given.exchange, document.exchange));
  Cluster cluster{
      .buffers = document.buffers, .devices_per_host = hosts.devices, .exchange = asked.format};
  if (asked.any) {
    const auto cheapest = cheapest_exchange(workload, document.plan, models.models, cluster);
    if (!cheapest.ok()) return cheapest.status().with_context(input.plan.source);
    cluster.exchange = *cheapest;
  }
  NEUROSHARD_ASSIGN_OR_RETURN(PlanCost cost, costs_of(input, document.plan, models, cluster));
  const CostError error = error_of(models.models, cost);
  document.set_cost(std::move(cost), error);
  note_contradictions({.memory_bytes = given.memory_bytes,
                       .devices_per_host = given.devices_per_host,
                       .bandwidths = bandwidths_given(flags, models),
                       .exchange = exchange_given(given.exchange, cluster.exchange)},
                      input.plan, document.places.devices_per_host);
  document.setting.memory_bytes = memory_bytes;
  document.exchange = cluster.exchange;
  document.places.devices_per_host = hosts.devices;
  return CostedPlan{std::move(input), std::move(document), std::move(models), hosts.devices};
}

}  // namespace neuroshard::apps
