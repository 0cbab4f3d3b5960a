#include "engine/planner/robust/robust_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "engine/core/elapsed.h"
#include "engine/cost_model/capabilities.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/regret_descent.h"
#include "engine/planner/search_budget.h"

namespace neuroshard {
namespace {

/// Seconds of the descents where neither time nor evaluations are limited, as of a search.
constexpr double kUsualSeconds = 1;

/// The options as far as all models know what they allow.
PlanOptions known_by_all(PlanOptions options, std::span<const CostModels* const> models) {
  for (const CostModels* one : models) {
    const Capabilities known = capabilities(*one);
    options.row_splits = std::min(options.row_splits, known.row_splits);
    options.data_parallel &= known.replicas;
    options.hot_rows = false;  // the descent between models has no place for them
    options.trainer.host_memory &= known.host_memory;
  }
  return options;
}

/// A plan that every model has costed.
struct Candidate {
  Plan plan;
  std::vector<PlanCost> costs;
};

class RobustSearch {
 public:
  RobustSearch(const PlanFile& file, CostPanel& panel, const PlanOptions& options)
      : file_(file),
        panel_(panel),
        options_(known_by_all(options, panel.models())),
        best_ms_(panel.models().size(), std::numeric_limits<double>::infinity()) {}

  Result<RobustPlan> run() {
    const auto began = std::chrono::steady_clock::now();
    NEUROSHARD_RETURN_IF_ERROR(search_alone());
    descend_from_all();
    const Candidate& chosen = best();
    for (std::size_t k = 0; k < best_ms_.size(); ++k) {
      found_.costs.push_back({chosen.costs[k], best_ms_[k]});
    }
    found_.plan.plan = chosen.plan;
    found_.plan.cost = chosen.costs.front();
    found_.plan.algorithm = options_.algorithm;
    found_.plan.seconds = seconds_since(began);
    return std::move(found_);
  }

 private:
  /// Under each model by itself.
  Status search_alone() {
    for (const CostModels* one : panel_.models()) {
      NEUROSHARD_ASSIGN_OR_RETURN(
          PlanResult result,
          make_plan_for(file_, panel_.workload(), panel_.cluster(), *one, options_));
      NEUROSHARD_RETURN_IF_ERROR(file_.refusal(result));
      found_.own_ms.push_back(result.cost.cost_ms);
      found_.plan.evaluations += result.evaluations;
      found_.plan.stopped_early |= result.stopped_early;
      if (found_.plan.skipped.empty()) found_.plan.skipped = result.skipped;
      NEUROSHARD_ASSIGN_OR_RETURN(std::vector<PlanCost> costs, panel_.costs_of(result.plan));
      add({std::move(result.plan), std::move(costs)});
    }
    return {};
  }

  /// From the best first: where the limit comes early, that is what counts.
  void descend_from_all() {
    std::vector<Plan> others;
    for (const Candidate& one : candidates_) others.push_back(one.plan);
    std::vector<Plan> starts = others;
    std::swap(starts.front(), starts[static_cast<std::size_t>(&best() - candidates_.data())]);
    const auto began = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const std::int64_t own = steps_for(std::ssize(starts) - static_cast<std::int64_t>(k));
      // Without a limit of evaluations the walks have most of the time, and end by it.
      const double until =
          seconds() * static_cast<double>(k + 1) / static_cast<double>(starts.size());
      const bool timed = options_.evaluations == 0;
      const DescentRules rules{
          options_.row_splits != RowSplits::kOff && options_.trainer.row_splits != RowSplits::kOff,
          options_.trainer.equal_columns, own, options_.seed + k, [&](std::int64_t evaluations) {
            return asked_to_stop(options_.cancel) || (!timed && evaluations >= 2 * own) ||
                   (timed && seconds_since(began) >= until);
          }};
      Descended found = regret_descent(panel_, starts[k], others, best_ms_, rules);
      spent_ += found.evaluations;
      if (timed && seconds_since(began) >= until) found_.plan.stopped_early = true;
      add_if_written(std::move(found));
    }
    found_.plan.stopped_early |= asked_to_stop(options_.cancel);
    found_.plan.evaluations += spent_;
  }

  /// Steps of the next walk, where so many are left. Each costs as much as hundreds of a search's
  /// estimates, so that a share of its evaluations takes about as long; of few
  /// evaluations, walks have some steps all the same.
  [[nodiscard]] std::int64_t steps_for(std::int64_t walks) const {
    constexpr std::int64_t kSearchSteps = 50;
    constexpr std::int64_t kFewestSteps = 1000;
    constexpr std::int64_t kMostShare = 8;  // of the evaluations, for those
    constexpr std::int64_t kUsualSteps = 20'000;
    if (options_.evaluations == 0) return kUsualSteps;
    const std::int64_t few = std::min(kFewestSteps, options_.evaluations / kMostShare / walks);
    return std::max<std::int64_t>({1, few, options_.evaluations / kSearchSteps / walks});
  }

  [[nodiscard]] double seconds() const {
    return options_.time_limit_s > 0 ? options_.time_limit_s : kUsualSeconds;
  }

  /// What the file has another place for, or none, is no candidate.
  void add_if_written(Descended found) {
    if (file_.as_written(found.plan) != found.plan) return;
    PlanResult result;
    result.plan = found.plan;
    result.cost = found.costs.front();
    result.algorithm = options_.algorithm;
    if (file_.refusal(result).ok()) add({std::move(found.plan), std::move(found.costs)});
  }

  void add(Candidate one) {
    for (std::size_t k = 0; k < best_ms_.size(); ++k) {
      best_ms_[k] = std::min(best_ms_[k], one.costs[k].cost_ms);
    }
    candidates_.push_back(std::move(one));
  }

  /// With the smallest largest regret, the first of equals.
  [[nodiscard]] const Candidate& best() const {
    return *std::min_element(
        candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
          return largest_regret(a.costs, best_ms_) < largest_regret(b.costs, best_ms_);
        });
  }

  const PlanFile& file_;
  CostPanel& panel_;
  const PlanOptions options_;
  std::vector<double> best_ms_;
  std::vector<Candidate> candidates_;
  std::int64_t spent_ = 0;
  RobustPlan found_;
};

}  // namespace

double RobustPlan::largest_regret() const {
  double largest = 0;
  for (const RobustCost& one : costs) largest = std::max(largest, one.regret());
  return largest;
}

Result<RobustPlan> make_robust_plan(const PlanFile& file, const Workload& workload,
                                    const Cluster& cluster,
                                    std::span<const CostModels* const> models,
                                    const PlanOptions& options) {
  if (models.size() < 2) {
    return invalid_input("cost models: found " + std::to_string(models.size()) +
                         ", expected at least 2");
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster));
  NEUROSHARD_ASSIGN_OR_RETURN(CostPanel panel, CostPanel::create(workload, cluster, models));
  return RobustSearch(file, panel, options).run();
}

}  // namespace neuroshard
