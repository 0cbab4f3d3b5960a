#include "engine/planner/plan_for_file.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "engine/core/bytes.h"
#include "engine/core/hot_rows.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_sink.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "engine/planner/algorithms.h"
#include "engine/planner/memory_limits.h"
#include "engine/planner/search_budget.h"
#include "engine/planner/tried_advice.h"
#include "search/equal_columns.h"

namespace neuroshard {
namespace {

/// Puts the plan as the file holds it.
Status put_as_written(const PlanFile& file, const Workload& workload, const Cluster& cluster,
                      const CostModels& models, PlanResult& result) {
  Plan written = file.as_written(result.plan);
  if (written == result.plan) return {};
  result.plan = std::move(written);
  NEUROSHARD_ASSIGN_OR_RETURN(result.cost, simulate(workload, result.plan, models, cluster));
  return {};
}

/// Memory per device that a plan of whole tables, which every format has a place for, makes do
/// with: no limit changes a greedy plan that stays below it. kInfeasible: a table may not be whole.
Result<std::int64_t> memory_for_whole_tables(const Workload& workload, Cluster cluster,
                                             const CostModels& models) {
  cluster.memory_bytes = workload_bytes(workload, step_memory(workload, cluster));
  PlanOptions options;
  options.algorithm = "size-greedy";
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanResult whole,
                              make_plan(workload, cluster, models, options));
  const std::vector<std::int64_t> bytes = device_bytes(workload, whole.plan, cluster.buffers);
  return *std::max_element(bytes.begin(), bytes.end());
}

/// kInfeasible, with what would do: `refused` is why the file has no place for the best plan.
Status nothing_to_write(const PlanFile& file, const Workload& workload, const Cluster& cluster,
                        const CostModels& models, const Status& refused) {
  const std::string none =
      refused.message() + "; no plan found that " + file.format + " has a place for: ";
  const auto bytes = memory_for_whole_tables(workload, cluster, models);
  if (bytes.status().code() == StatusCode::kInfeasible) {
    return infeasible(none + "allowing all tables whole would do");
  }
  NEUROSHARD_RETURN_IF_ERROR(bytes.status());
  return infeasible(none + format_bytes_at_least(*bytes) +
                    " of memory per device would do, with whole tables");
}

/// The refusal with advice on plans that the file has a place for.
Status advised(const PlanFile& file, const Workload& workload, const Cluster& cluster,
               const CostModels& models, const PlanOptions& options, const Status& refusal) {
  const auto whole = with_wholes(refusal, workload, cluster, models, options);
  if (whole) {
    const Status then = make_plan(*whole, cluster, models, options).status();
    return then.code() == StatusCode::kInfeasible ? with_next_refusal(refusal, then) : refusal;
  }
  const Trial trial = [&](const Workload& tables, const Cluster& other) {
    NEUROSHARD_ASSIGN_OR_RETURN(PlanResult tried,
                                make_plan(tables, other, models, for_trials(options)));
    NEUROSHARD_RETURN_IF_ERROR(put_as_written(file, tables, other, models, tried));
    return file.refusal(tried);
  };
  return with_tried_advice(refusal, {workload, cluster, trial, true});
}

/// The cheapest of the plans that a search comes by, each as the file holds it: the cheapest of
/// them all may be dearer so than another one. Shows them to who asked for them, too.
class CheapestWritten final : public PlanSink {
 public:
  CheapestWritten(const PlanFile& file, const Workload& workload, const Cluster& cluster,
                  const CostModels& models, const PlanOptions& options)
      : file_(file), workload_(workload), cluster_(cluster), models_(models), options_(options) {}

  [[nodiscard]] bool wants(double cost_ms) const override {
    const bool asked = options_.plans != nullptr && options_.plans->wants(cost_ms);
    return asked || cost_ms < cost_ms_;
  }

  void offer(const Plan& plan, double cost_ms) override {
    if (options_.plans != nullptr) options_.plans->offer(plan, cost_ms);
    if (cost_ms >= cost_ms_) return;
    Plan sorted = plan;
    canonicalize(sorted);
    std::optional<Plan> written = offered_as_written(file_, workload_, options_.trainer, sorted);
    if (!written) return;
    if (*written != sorted) {
      const Result<PlanCost> cost = simulate(workload_, *written, models_, cluster_);
      if (!cost.ok() || cost->cost_ms >= cost_ms_) return;
      cost_ms = cost->cost_ms;
    }
    cost_ms_ = cost_ms;
    plan_ = *std::move(written);
  }

  /// Takes the place of a plan that costs more, if the file has a place for it.
  Status improve(PlanResult& plan) {
    if (plan.cost.cost_ms <= cost_ms_) return {};
    PlanResult other = plan;
    other.plan = std::move(plan_);
    NEUROSHARD_ASSIGN_OR_RETURN(other.cost, simulate(workload_, other.plan, models_, cluster_));
    if (other.cost.cost_ms < plan.cost.cost_ms && file_.refusal(other).ok()) {
      plan = std::move(other);
    }
    return {};
  }

 private:
  const PlanFile& file_;
  const Workload& workload_;
  const Cluster& cluster_;
  const CostModels& models_;
  const PlanOptions& options_;
  Plan plan_;
  double cost_ms_ = std::numeric_limits<double>::infinity();
};

/// make_plan(), put as the file holds it.
Result<PlanResult> plan_as_written(const PlanFile& file, const Workload& workload,
                                   const Cluster& cluster, const CostModels& models,
                                   const PlanOptions& options) {
  // Of plans with equal blocks, make_plan() does not know whether the file has a place for them.
  PlanOptions own = options;
  own.advise = options.advise && !options.trainer.equal_columns;
  // Files of trainers without rules for columns hold plans as they are.
  CheapestWritten others(file, workload, cluster, models, options);
  if (options.trainer.one_width_a_device || options.trainer.equal_columns) own.plans = &others;
  Result<PlanResult> best = make_plan(workload, cluster, models, own);
  if (best.status().code() == StatusCode::kInfeasible && options.advise && !own.advise) {
    return advised(file, workload, cluster, models, options, best.status());
  }
  NEUROSHARD_RETURN_IF_ERROR(best.status());
  NEUROSHARD_RETURN_IF_ERROR(put_as_written(file, workload, cluster, models, *best));
  NEUROSHARD_RETURN_IF_ERROR(others.improve(*best));
  return best;
}

/// The options of a search for a plan in place of `hot`, whose hot rows are refused, in what that
/// has left of the time.
PlanOptions without_hot_rows(PlanOptions options, const PlanResult& hot) {
  options.hot_rows = false;
  options.advise = false;  // there is a plan to fall back on
  if (options.time_limit_s > 0) {
    options.time_limit_s = std::max(options.time_limit_s - hot.seconds, kLeastSeconds);
  }
  return options;
}

}  // namespace

std::optional<Plan> offered_as_written(const PlanFile& file, const Workload& workload,
                                       const TrainerRules& trainer, Plan plan) {
  if (trainer.equal_columns) {
    search::EqualColumnsPlan laid = search::with_equal_columns(workload, plan);
    if (!laid.unequal.empty()) return std::nullopt;
    plan = std::move(laid.plan);
  }
  canonicalize(plan);
  return file.as_written(std::move(plan));
}

Result<PlanResult> make_plan_for(const PlanFile& file, const Workload& workload,
                                 const Cluster& cluster, const CostModels& models,
                                 const PlanOptions& options) {
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult hot,
                              plan_as_written(file, workload, cluster, models, options));
  if (hot_rows(hot.plan).empty() || asked_to_stop(options.cancel)) return hot;
  const Status refused = file.refusal(hot);
  if (refused.code() != StatusCode::kInvalidInput) return hot;
  Result<PlanResult> cold =
      plan_as_written(file, workload, cluster, models, without_hot_rows(options, hot));
  if (there_is_none(cold.status())) return hot;
  NEUROSHARD_RETURN_IF_ERROR(cold.status());
  cold->evaluations += hot.evaluations;
  cold->seconds += hot.seconds;
  cold->stopped_early |= hot.stopped_early;
  cold->hot_rows_refused = refused.message();
  return cold;
}

Result<PlanInstead> plan_instead(const PlanFile& file, const Workload& workload,
                                 const Cluster& cluster, const CostModels& models,
                                 const PlanOptions& options, const PlanResult& best,
                                 const Status& refused) {
  if (asked_to_stop(options.cancel)) return refused;
  std::vector<std::string> names = baseline_names();
  std::erase(names, best.algorithm);
  PlanOptions own = options;
  own.time_limit_s = std::max(best.seconds, kBaselineSeconds);
  NEUROSHARD_ASSIGN_OR_RETURN(
      std::vector<ComparedPlan> others,
      compare_plans(workload, cluster, models, names, own, {options.time_limit_s}));
  if (asked_to_stop(options.cancel)) return refused;
  std::optional<PlanResult> cheapest;
  bool out_of_time = false;
  for (const ComparedPlan& other : others) {
    out_of_time |= other.result.status().code() == StatusCode::kCancelled;
    if (!other.result.ok()) continue;
    PlanResult result = *other.result;
    NEUROSHARD_RETURN_IF_ERROR(put_as_written(file, workload, cluster, models, result));
    if (!file.refusal(result).ok()) continue;
    if (!cheapest || result.cost.cost_ms < cheapest->cost.cost_ms) cheapest = std::move(result);
  }
  if (!cheapest && out_of_time) {
    return cancelled(refused.message() + "; time ended the search for one that it has a place for");
  }
  if (!cheapest) return nothing_to_write(file, workload, cluster, models, refused);
  cheapest->stopped_early |= best.stopped_early;
  std::erase_if(others,
                [&](const ComparedPlan& other) { return other.algorithm == cheapest->algorithm; });
  return PlanInstead{*std::move(cheapest), std::move(others)};
}

bool could_stay(const Workload& workload, const Plan& now, const Cluster& cluster) {
  return missing_tables(workload, now).empty() &&
         check_memory(workload, now, cluster.memory_bytes, cluster.buffers).ok();
}

Result<PlanResult> replan_for(const PlanFile& file, const Workload& workload,
                              const Cluster& cluster, const CostModels& models, const Plan& now,
                              const MoveLimit& limit, const PlanOptions& options) {
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult best,
                              replan(workload, cluster, models, now, limit, options));
  NEUROSHARD_RETURN_IF_ERROR(put_as_written(file, workload, cluster, models, best));
  return best;
}

Result<PlanResult> now_instead(const PlanFile& file, const Workload& workload,
                               const Cluster& cluster, const CostModels& models, const Plan& now,
                               const PlanResult& best, const Status& refused) {
  if (!could_stay(workload, now, cluster)) return refused;
  PlanResult same = best;
  same.plan = now;
  canonicalize(same.plan);
  NEUROSHARD_ASSIGN_OR_RETURN(same.cost, simulate(workload, now, models, cluster));
  NEUROSHARD_RETURN_IF_ERROR(file.refusal(same));
  return same;
}

}  // namespace neuroshard
