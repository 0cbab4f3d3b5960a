#include "engine/planner/exchange/exchange_choice.h"

#include <utility>

#include "engine/cost_model/capabilities.h"
#include "engine/planner/planner.h"

namespace neuroshard {

Result<ExchangeFormat> cheapest_exchange(const Workload& workload, const Plan& plan,
                                         const CostModels& models, const Cluster& cluster) {
  Cluster tried = cluster;
  ExchangeFormat best;
  double least_ms = 0;
  for (const ExchangeFormat& format : exchange_formats_of(capabilities(models).exchange)) {
    tried.exchange = format;
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanCost cost, simulate(workload, plan, models, tried));
    if (is_exact(format)) {
      least_ms = cost.cost_ms * (1 - kExchangeSaving);
    } else if (cost.cost_ms < least_ms) {
      least_ms = cost.cost_ms;
      best = format;
    }
  }
  return best;
}

Result<PlanResult> search_any_exchange(const Workload& workload, const CostModels& models,
                                       const ClusterSearch& search, Cluster& cluster) {
  cluster.exchange = {};
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult exact, search(cluster));
  NEUROSHARD_ASSIGN_OR_RETURN(const ExchangeFormat format,
                              cheapest_exchange(workload, exact.plan, models, cluster));
  if (is_exact(format)) return exact;
  cluster.exchange = format;
  NEUROSHARD_ASSIGN_OR_RETURN(exact.cost, simulate(workload, exact.plan, models, cluster));
  exact.lower_bound.reset();  // of fp32
  Result<PlanResult> found = search(cluster);
  if (!found.ok()) {
    exact.stopped_early = true;
    return exact;
  }
  if (found->cost.cost_ms <= exact.cost.cost_ms) {
    found->evaluations += exact.evaluations;
    found->seconds += exact.seconds;
    found->stopped_early |= exact.stopped_early;
    return found;
  }
  exact.evaluations += found->evaluations;
  exact.seconds += found->seconds;
  exact.stopped_early |= found->stopped_early;
  return exact;
}

}  // namespace neuroshard
