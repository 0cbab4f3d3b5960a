#include "engine/planner/robust/robust_plan.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/elapsed.h"
#include "engine/core/hot_rows.h"
#include "engine/core/plan_sink.h"
#include "engine/cost_model/capabilities.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/cost_panel.h"
#include "engine/planner/robust/mixed_plans.h"
#include "engine/planner/robust/worst_of_models.h"
#include "engine/planner/search_budget.h"

namespace neuroshard {
namespace {

/// A plan that runs, and how much of it may move.
struct RunningPlan {
  const Plan& plan;
  const MoveLimit& limit;
};

/// A plan that every model has costed.
struct Candidate {
  Plan plan;
  std::vector<PlanCost> costs;
};

class RobustSearch final : public PlanSink {
 public:
  /// For plans anew, or near one that runs.
  RobustSearch(const PlanFile& file, CostPanel& panel, const RunningPlan* running,
               const PlanOptions& options)
      : file_(file),
        panel_(panel),
        running_(running),
        options_(known_by_all(options)),
        best_ms_(panel.models().size(), std::numeric_limits<double>::infinity()) {}

  Result<RobustPlan> run() {
    const auto began = std::chrono::steady_clock::now();
    NEUROSHARD_RETURN_IF_ERROR(search_alone());
    Candidate around = chosen();
    for (std::size_t k = 0; k < best_ms_.size() && !asked_to_stop(options_.cancel); ++k) {
      NEUROSHARD_RETURN_IF_ERROR(search_together(k, around));
    }
    const Candidate& best = chosen();
    for (std::size_t k = 0; k < best_ms_.size(); ++k) {
      found_.costs.push_back({best.costs[k], best_ms_[k]});
    }
    if (may_stay_) {  // then it was the first to be found
      found_.running_regret = largest_regret(candidates_.front().costs, best_ms_);
    }
    found_.plan.plan = best.plan;
    if (!hot_rows(best.plan).empty()) found_.plan.hot_rows_refused.clear();
    found_.plan.cost = best.costs.front();
    found_.plan.seconds = seconds_since(began);
    found_.plan.stopped_early |= asked_to_stop(options_.cancel);
    return std::move(found_);
  }

  /// Of the walks under all models at once: what these take plans to cost is a guess, so one that
  /// is not their best may be ours. Only one is kept, as there may be many.
  void offer(const Plan& plan, double /*cost_ms*/) override {
    std::optional<Candidate> one = costed(plan);
    if (!one) return;
    const double regret = largest_regret(one->costs, best_ms_);
    if (offered_ && regret >= largest_regret(offered_->costs, best_ms_)) return;
    offered_ = std::move(one);
  }

 private:
  /// The options as far as all models know what they allow.
  [[nodiscard]] PlanOptions known_by_all(PlanOptions options) const {
    for (const CostModels* one : panel_.models()) {
      const Capabilities known = capabilities(*one);
      options.row_splits = std::min(options.row_splits, known.row_splits);
      options.data_parallel &= known.replicas;
      options.hot_rows &= known.hot_rows;
      options.trainer.host_memory &= known.host_memory;
    }
    return options;
  }

  [[nodiscard]] Result<PlanResult> search(const CostModels& models,
                                          const PlanOptions& options) const {
    const Workload& workload = panel_.workload();
    if (running_ == nullptr) {
      return make_plan_for(file_, workload, panel_.cluster(), models, options);
    }
    return replan_for(file_, workload, panel_.cluster(), models, running_->plan, running_->limit,
                      options);
  }

  /// Under each model by itself.
  Status search_alone() {
    for (const CostModels* one : panel_.models()) {
      NEUROSHARD_ASSIGN_OR_RETURN(PlanResult result, search(*one, options_));
      if (found_.own_ms.empty()) add_running();
      found_.own_ms.push_back(result.cost.cost_ms);
      found_.plan.algorithm = result.algorithm;
      add_effort(result);
      const Status refused = file_.refusal(result);
      if (!refused.ok() && !may_stay_) return refused;
      if (!refused.ok()) continue;
      NEUROSHARD_ASSIGN_OR_RETURN(std::vector<PlanCost> costs, panel_.costs_of(result.plan));
      add({std::move(result.plan), std::move(costs)});
    }
    return {};
  }

  /// A plan that could go on running is one of those found. REQUIRES that a search near it was not
  /// refused: then it is valid.
  void add_running() {
    if (running_ == nullptr || !could_stay(panel_.workload(), running_->plan, panel_.cluster())) {
      return;
    }
    Plan same = running_->plan;
    canonicalize(same);
    std::optional<Candidate> one = taken(std::move(same));
    may_stay_ = one.has_value();
    if (one) add(*std::move(one));
  }

  /// Under all of them, whose costs are compared as they are `around` a plan. That becomes the one
  /// found.
  Status search_together(std::size_t round, Candidate& around) {
    const CostModels all = worst_of_models(panel_.models(), around.costs, best_ms_);
    PlanOptions own = options_;
    own.seed += round;
    own.advise = false;  // there are plans already
    std::vector<Plan> starts;
    if (running_ == nullptr) {  // near one that runs, walks come by plans that move too much
      starts = starts_of(round);
      own.plans = this;
    }
    own.starts = starts;
    const Result<PlanResult> result = search(all, own);
    if (there_is_none(result.status())) return {};
    NEUROSHARD_RETURN_IF_ERROR(result.status());
    add_effort(*result);
    if (offered_) add(*std::exchange(offered_, std::nullopt));
    if (std::optional<Candidate> one = taken(result->plan)) {
      around = *one;
      add(*std::move(one));
    }
    return {};
  }

  /// All plans so far, and at first mixed ones.
  [[nodiscard]] std::vector<Plan> starts_of(std::size_t round) const {
    std::vector<Plan> starts;
    const std::size_t alone = round == 0 ? best_ms_.size() : 0;
    for (std::size_t a = 0; a < alone; ++a) {
      for (std::size_t b = a + 1; b < alone; ++b) {
        std::vector<Plan> mixed =
            mixed_plans(panel_, a, candidates_[a].plan, b, candidates_[b].plan, best_ms_);
        std::move(mixed.begin(), mixed.end(), std::back_inserter(starts));
      }
    }
    if (starts.empty()) {
      for (const Candidate& one : candidates_) starts.push_back(one.plan);
    }
    return starts;
  }

  /// As the file holds it.
  std::optional<Candidate> costed(const Plan& plan) {
    std::optional<Plan> written =
        offered_as_written(file_, panel_.workload(), options_.trainer, plan);
    return written ? taken(*std::move(written)) : std::nullopt;
  }

  /// A plan as the file holds it. Nothing where that has no place for it, or a model no cost.
  std::optional<Candidate> taken(Plan written) {
    Result<std::vector<PlanCost>> costs = panel_.costs_of(written);
    if (!costs.ok()) return std::nullopt;
    PlanResult result;
    result.plan = std::move(written);
    result.cost = costs->front();
    result.algorithm = options_.algorithm;
    if (!file_.refusal(result).ok()) return std::nullopt;
    return Candidate{std::move(result.plan), *std::move(costs)};
  }

  void add(Candidate one) {
    for (std::size_t k = 0; k < best_ms_.size(); ++k) {
      best_ms_[k] = std::min(best_ms_[k], one.costs[k].cost_ms);
    }
    candidates_.push_back(std::move(one));
  }

  void add_effort(const PlanResult& result) {
    found_.plan.evaluations += result.evaluations;
    found_.plan.stopped_early |= result.stopped_early;
    if (found_.plan.skipped.empty()) found_.plan.skipped = result.skipped;
    if (found_.plan.hot_rows_refused.empty()) {
      found_.plan.hot_rows_refused = result.hot_rows_refused;
    }
  }

  /// With the smallest largest regret, the first of equals.
  [[nodiscard]] const Candidate& chosen() const {
    return *std::min_element(
        candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
          return largest_regret(a.costs, best_ms_) < largest_regret(b.costs, best_ms_);
        });
  }

  const PlanFile& file_;
  CostPanel& panel_;
  const RunningPlan* running_;
  const PlanOptions options_;
  std::vector<double> best_ms_;
  std::vector<Candidate> candidates_;
  bool may_stay_ = false;  // the plan that runs
  std::optional<Candidate> offered_;
  RobustPlan found_;
};

Result<CostPanel> panel_of(const Workload& workload, const Cluster& cluster,
                           std::span<const CostModels* const> models) {
  if (models.size() < 2) {
    return invalid_input("cost models: found " + std::to_string(models.size()) +
                         ", expected at least 2");
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster));
  return CostPanel::create(workload, cluster, models);
}

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
  NEUROSHARD_ASSIGN_OR_RETURN(CostPanel panel, panel_of(workload, cluster, models));
  return RobustSearch(file, panel, nullptr, options).run();
}

Result<RobustPlan> make_robust_replan(const PlanFile& file, const Workload& workload,
                                      const Cluster& cluster,
                                      std::span<const CostModels* const> models, const Plan& now,
                                      const MoveLimit& limit, const PlanOptions& options) {
  NEUROSHARD_ASSIGN_OR_RETURN(CostPanel panel, panel_of(workload, cluster, models));
  const RunningPlan running{now, limit};
  return RobustSearch(file, panel, &running, options).run();
}

}  // namespace neuroshard
