#include "engine/planner/bench_signature/scalar_planner.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/core/elapsed.h"
#include "engine/cost_model/mlp_evaluator.h"
#include "engine/planner/search_run.h"
#include "nn/isa.h"
#include "search/algorithms.h"
#include "search/replan/replan.h"

namespace neuroshard::signature {
namespace {

using ScalarSearch = std::function<Result<search::SearchResult>(MlpEvaluator&)>;

Result<PlanResult> run(const Workload& workload, const Cluster& cluster, const CostModels& models,
                       std::string_view algorithm, const ScalarSearch& search) {
  NEUROSHARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<MlpEvaluator> evaluator,
      MlpEvaluator::create(models, workload, cluster.devices, nn::Isa::kScalar));
  const auto start = std::chrono::steady_clock::now();
  NEUROSHARD_ASSIGN_OR_RETURN(search::SearchResult found, search(*evaluator));
  PlanResult result;
  result.algorithm = algorithm;
  result.seconds = seconds_since(start);
  result.plan = std::move(found.plan);
  result.evaluations = found.evaluations;
  result.stopped_early = found.stopped_early;
  canonicalize(result.plan);
  return result;
}

}  // namespace

Result<PlanResult> make_plan_scalar(const Workload& workload, const Cluster& cluster,
                                    const CostModels& models, const PlanOptions& options) {
  const search::Algorithm& algorithm = *search::find_algorithm(options.algorithm);
  return run(workload, cluster, models, options.algorithm, [&](MlpEvaluator& evaluator) {
    return algorithm.run({workload, cluster}, evaluator, search_options(options, models, cluster));
  });
}

Result<PlanResult> replan_scalar(const Workload& workload, const Cluster& cluster,
                                 const CostModels& models, const Plan& now, const MoveLimit& limit,
                                 const PlanOptions& options) {
  return run(workload, cluster, models, kReplan, [&](MlpEvaluator& evaluator) {
    return search::replan({workload, cluster}, evaluator, search_options(options, models, cluster),
                          now, now, limit);
  });
}

}  // namespace neuroshard::signature
