#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/cost_model/cost_models.h"
#include "engine/planner/plan_options.h"
#include "search/problem.h"

namespace neuroshard {

/// Those of a search, all but the threads; row shards as far as the models know them.
search::SearchOptions search_options(const PlanOptions& options, const CostModels& models);

/// The tables that searches are given: on a single device every table is whole, whatever it allows
/// elsewhere, a table that may be on each of the devices may be anywhere, and one in host memory is
/// not on all of them.
class OwnWorkload {
 public:
  OwnWorkload(const Workload& workload, std::int32_t devices);
  [[nodiscard]] const Workload& get() const { return own_ ? *own_ : given_; }

 private:
  const Workload& given_;
  std::optional<Workload> own_;
};

/// kInvalidInput for a table that names devices which the cluster does not have.
Status check_devices(const Workload& workload, const Cluster& cluster);

using Search = std::function<Result<search::SearchResult>(
    const search::Problem&, search::PlanEvaluator&, const search::SearchOptions&)>;

/// What a search finds, with its evaluator and threads, and what the plan costs; everything else is
/// done before and after `seconds`. Errors: bad options, tables and clusters, and the search's.
Result<PlanResult> run_search(const Workload& workload, const Cluster& cluster,
                              const CostModels& models, const PlanOptions& options,
                              const Search& run, double& seconds);

}  // namespace neuroshard
