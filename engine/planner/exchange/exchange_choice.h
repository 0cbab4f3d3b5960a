#pragma once

#include <functional>

#include "engine/core/cluster.h"
#include "engine/core/exchange_format.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/planner/plan_options.h"

// The exchange format that costs least, where nobody asks for one.

namespace neuroshard {

/// What a format other than fp32 has to save, as a share of the cost: less is not worth that the
/// numbers of the training change, nor more than the searches' own noise.
inline constexpr double kExchangeSaving = 0.01;

/// The format, of those that the models know, in which the plan costs least; fp32 where none saves
/// kExchangeSaving. The cluster has the hosts that count. Errors: as simulate(). Thread-safe.
Result<ExchangeFormat> cheapest_exchange(const Workload& workload, const Plan& plan,
                                         const CostModels& models, const Cluster& cluster);

/// A search of a plan for a cluster.
using ClusterSearch = std::function<Result<PlanResult>(const Cluster&)>;

/// What `search` finds in the cheapest format, which `cluster` then has. It runs with fp32 first;
/// where that plan costs less in another format, once more with that, and the cheaper plan is
/// taken: never one dearer than with fp32 alone. So limits of the search are those of each of two.
/// Errors: as the search and simulate().
Result<PlanResult> search_any_exchange(const Workload& workload, const CostModels& models,
                                       const ClusterSearch& search, Cluster& cluster);

}  // namespace neuroshard
