#pragma once

#include <functional>
#include <optional>

#include "engine/core/cluster.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/planner/plan_options.h"

namespace neuroshard {

/// A quick search of the same kind for these tables on that cluster: OK where it finds a plan.
using Trial = std::function<Status(const Workload&, const Cluster&)>;

/// What a trial is made of.
struct TrialSetting {
  const Workload& workload;
  const Cluster& cluster;
  const Trial& trial;
  bool all = false;  ///< takes no advice for tried, that of searches neither
};

/// A refusal of make_plan() whose advice was tried. Searches say what would do where packing alone
/// finds it out; elsewhere ("needs at least ..", "more may do") they state what they could prove,
/// which is often too little. Here such words give way to the least memory per device, and per host
/// where hosts have some, with which the trial finds a plan, to a few percent. Other refusals, and
/// those for which nothing helps within some twenty trials (fewer of thousands of tables), stay as
/// they are.
Status with_tried_advice(const Status& refusal, const TrialSetting& setting);

/// Of a refusal that wants tables to be allowed whole: the tables with that allowed. Nothing for
/// another one.
std::optional<Workload> with_wholes(const Status& refusal, const Workload& workload,
                                    const Cluster& cluster, const CostModels& models,
                                    const PlanOptions& options);

/// Such a refusal with `then`, why there is no plan of these tables, either.
Status with_next_refusal(const Status& refusal, const Status& then);

/// The options of a search that is to find out quickly whether there is a plan.
PlanOptions for_trials(PlanOptions options);

}  // namespace neuroshard
