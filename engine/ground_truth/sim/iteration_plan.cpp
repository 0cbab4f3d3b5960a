#include "engine/ground_truth/sim/iteration_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/check_sharding.h"
#include "engine/core/plan_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/cost_model/torchrec_costs.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/compute_model.h"
#include "engine/ground_truth/sim/iteration_model.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/iteration/spread_plan.h"
#include "engine/planner/planner.h"
#include "search/hugectr/hugectr_sharder.h"

namespace neuroshard {
namespace {

/// Plans that the search under TorchRec's formula looks at: a tenth of a second.
constexpr std::int64_t kEvaluations = 50'000;

/// The shortest so far.
struct Best {
  std::optional<IterationPlan> plan;
  double iteration_ms = 0;
  Status refusal;  ///< of the last plan that cannot be simulated
};

/// Milliseconds that a column of outputs takes both ways, as if every device had as many columns:
/// what one of them has more takes so much longer.
double exchange_ms_of_column(const ChosenProfile& hardware, const Workload& workload,
                             std::int32_t devices) {
  double columns = 0;
  for (const Table& table : workload.tables) columns += table.dim;
  columns /= devices;
  HardwareProfile no_copies = hardware.profile;
  no_copies.exchange_copies = {};
  InterconnectProfile no_latency = hardware.interconnect;
  no_latency.intra_host_latency_us = no_latency.inter_host_latency_us = {};
  const auto count = static_cast<std::size_t>(devices);
  const CommTime exchange = simulate_exchange(
      no_copies, no_latency, {std::vector<double>(count, columns), std::vector<double>(count, 0.0)},
      std::vector<double>(count, 0.0), workload.batch_size);
  return (exchange.forward_ms[0] + exchange.backward_ms[0]) / columns;
}

std::vector<TableDemand> demands(const ChosenProfile& hardware, const Workload& workload,
                                 std::int32_t devices, double value_bytes) {
  const double column_ms = exchange_ms_of_column(hardware, workload, devices) * value_bytes / 4;
  std::vector<TableDemand> all;
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    const Shard whole = whole_table(workload, table, 0);
    const ComputeTime time = simulate_compute(hardware.profile, workload, {&whole, 1});
    const double outputs = workload.tables[static_cast<std::size_t>(table)].features;
    all.push_back({time.total_ms, whole.dim() * outputs * column_ms});
  }
  return all;
}

/// Whether its tables allow the plan and the devices have the memory for it.
bool fits(const Workload& workload, const Plan& plan, const Cluster& cluster) {
  std::vector<std::vector<Shard>> shards(workload.tables.size());
  for (const Shard& shard : plan.shards) {
    shards[static_cast<std::size_t>(shard.table)].push_back(shard);
  }
  for (std::size_t table = 0; table < shards.size(); ++table) {
    if (!check_sharding(workload.tables[table], shards[table], plan.devices).ok()) return false;
  }
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan, cluster.buffers);
  return *std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_bytes;
}

void offer(const ChosenProfile& hardware, const Workload& workload, const DenseModel& model,
           IterationPlan plan, Best& best) {
  const Result<IterationCost> cost = simulate_iteration(hardware, workload, plan.plan, model);
  if (!cost.ok()) {
    best.refusal = cost.status();
    return;
  }
  if (best.plan && cost->iteration_ms >= best.iteration_ms) return;
  best.plan = std::move(plan);
  best.iteration_ms = cost->iteration_ms;
}

/// What HugeCTR's own planner makes, with small tables on every device and without. What the
/// devices have no room for, or tables do not allow, is no candidate.
void offer_hugectr(const ChosenProfile& hardware, const Workload& workload, const Cluster& cluster,
                   const DenseModel& model, Best& best) {
  const search::Problem problem(workload, cluster);
  for (const bool replicate : {true, false}) {
    Result<Plan> plan = search::hugectr_plan(
        problem, {.row_splits = RowSplits::kAny,
                  .devices_per_host = devices_on_a_host(hardware, cluster.devices),
                  .replicate = replicate});
    if (!plan.ok()) continue;
    canonicalize(*plan);
    offer(hardware, workload, model, {*std::move(plan), "the rule of HugeCTR's planner"}, best);
  }
}

}  // namespace

Result<IterationPlan> plan_iteration(const ChosenProfile& hardware, const Workload& workload,
                                     const Cluster& cluster, const DenseModel& model) {
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster));
  NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels torchrec,
                              load_shipped_models(std::string(kTorchRecCostModel)));
  Best best;
  const std::vector<TableDemand> demand =
      demands(hardware, workload, cluster.devices, bytes_of(model.precision));
  for (const SpreadRule& rule : spread_rules()) {
    Plan plan = make_spread_plan(workload, demand, cluster.devices, rule);
    if (!fits(workload, plan, cluster)) continue;
    offer(hardware, workload, model, {std::move(plan), "spread"}, best);
  }
  offer_hugectr(hardware, workload, cluster, model, best);
  PlanOptions options;
  options.evaluations = kEvaluations;
  Status refusal;
  for (const bool data_parallel : {false, true}) {
    options.data_parallel = data_parallel;
    Result<PlanResult> found = make_plan(workload, cluster, torchrec.models, options);
    if (!found.ok()) {
      refusal = found.status();
      continue;
    }
    offer(hardware, workload, model, {std::move(found->plan), "refine under TorchRec's formula"},
          best);
  }
  if (best.plan) return *std::move(best.plan);
  return best.refusal.ok() ? refusal : best.refusal;
}

}  // namespace neuroshard
