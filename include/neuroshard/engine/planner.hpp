// Part of neuroshard/engine.hpp: searching and costing plans, and ending searches.
#ifndef NEUROSHARD_ENGINE_PLANNER_HPP_
#define NEUROSHARD_ENGINE_PLANNER_HPP_

#include <neuroshard/engine/base.hpp>
#include <neuroshard/engine/cluster.hpp>
#include <neuroshard/engine/cost_models.hpp>
#include <neuroshard/engine/explain.hpp>
#include <neuroshard/engine/plan.hpp>
#include <neuroshard/engine/planner.h>
#include <neuroshard/engine/progress.hpp>
#include <neuroshard/engine/workload.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace neuroshard {
inline namespace api {

/// How to search; see neuroshard_plan_options.
struct PlanOptions {
  std::string algorithm{};  ///< empty: "refine"
  std::uint64_t seed = 0;
  double time_limit_s = 0;
  std::int64_t evaluations = 0;
  std::int32_t threads = 0;
  std::int32_t row_splits = NEUROSHARD_ROW_SPLITS_DEFAULT;  ///< one of NEUROSHARD_ROW_SPLITS_..
  bool data_parallel = false;
  bool equal_columns = false;  ///< column blocks of a table of one width, as HugeCTR has them
  std::string target{};        ///< "torchrec" or "hugectr", which runs the plan; empty: any
  bool whole_tables = false;   ///< replan() alone: only whole tables move
  bool hot_rows = false;       ///< plan() alone: the hottest rows of tables may be on every device
  std::int64_t hot_memory_bytes = 0;  ///< of each device that those may take; 0: what there is
  const Cancellation* cancellation = nullptr;
  Progress progress{};
};

/// Searches and costs plans with one set of cost models. Thread-safe.
class Planner {
 public:
  explicit Planner(neuroshard_planner* owned) : handle_(owned) {}

  static Result<Planner> create(const CostModels& models,
                                const neuroshard_planner_options* options = nullptr) {
    return detail::made<Planner, neuroshard_planner>([&](auto** out, auto* error) {
      return neuroshard_planner_create(models.get(), options, out, error);
    });
  }

  [[nodiscard]] Result<Plan> plan(const Workload& workload, const Cluster& cluster,
                                  const PlanOptions& options = {}) const {
    const neuroshard_cluster devices = cluster.c_struct();
    const neuroshard_plan_options given = c_struct(options);
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_planner_plan(get(), workload.get(), &devices, &given, out, error);
    });
  }
  /// One plan for these cost models and the planner's own, with the smallest largest regret; its
  /// robust_costs() tell what each says of it.
  [[nodiscard]] Result<Plan> plan_robust(std::span<const CostModels> others,
                                         const Workload& workload, const Cluster& cluster,
                                         const PlanOptions& options = {}) const {
    const std::vector<const neuroshard_cost_models*> models = handles_of(others);
    const neuroshard_cluster devices = cluster.c_struct();
    const neuroshard_plan_options given = c_struct(options);
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_planner_plan_robust(get(), models.data(), models.size(), workload.get(),
                                            &devices, &given, out, error);
    });
  }
  /// A plan that costs no more than `now`, one that runs, and brings at most so many bytes to
  /// devices that do not hold them.
  [[nodiscard]] Result<Plan> replan(const Workload& workload, const Cluster& cluster,
                                    const Plan& now, std::int64_t move_limit_bytes,
                                    const PlanOptions& options = {}) const {
    const neuroshard_cluster devices = cluster.c_struct();
    const neuroshard_plan_options given = c_struct(options);
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_planner_replan(get(), workload.get(), &devices, now.get(), move_limit_bytes,
                                       &given, out, error);
    });
  }
  /// replan() for these cost models and the planner's own, as plan_robust() plans.
  [[nodiscard]] Result<Plan> replan_robust(std::span<const CostModels> others,
                                           const Workload& workload, const Cluster& cluster,
                                           const Plan& now, std::int64_t move_limit_bytes,
                                           const PlanOptions& options = {}) const {
    const std::vector<const neuroshard_cost_models*> models = handles_of(others);
    const neuroshard_cluster devices = cluster.c_struct();
    const neuroshard_plan_options given = c_struct(options);
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_planner_replan_robust(get(), models.data(), models.size(), workload.get(),
                                              &devices, now.get(), move_limit_bytes, &given, out,
                                              error);
    });
  }
  /// Milliseconds that no plan costs less than; 0 where none is known, as with networks.
  [[nodiscard]] Result<double> lower_bound(const Workload& workload, const Cluster& cluster,
                                           const PlanOptions& options = {}) const {
    const neuroshard_cluster devices = cluster.c_struct();
    const neuroshard_plan_options given = c_struct(options);
    double bound_ms = 0;
    const Result<void> done = detail::checked([&](neuroshard_error* error) {
      return neuroshard_planner_lower_bound(get(), workload.get(), &devices, &given, &bound_ms,
                                            error);
    });
    if (!done) return done.error();
    return bound_ms;
  }
  /// What tables of a plan take, and what else could be done with them; see explain.h.
  [[nodiscard]] Result<Explanation> explain(const Workload& workload, const Plan& plan,
                                            const Cluster& cluster,
                                            const ExplainOptions& options = {}) const {
    const neuroshard_cluster devices = cluster.c_struct();
    auto given = detail::versioned<neuroshard_explain_options>();
    given.tables = options.tables.data();
    given.table_count = options.tables.size();
    given.most = options.most;
    if (options.cancellation != nullptr) given.cancellation = options.cancellation->get();
    if (options.progress) {
      given.progress = detail::hand_on;
      given.progress_user_data = const_cast<Progress*>(&options.progress);
    }
    return detail::made<Explanation, neuroshard_explanation>([&](auto** out, auto* error) {
      return neuroshard_planner_explain(get(), workload.get(), plan.get(), &devices, &given, out,
                                        error);
    });
  }
  /// The same shards with what they cost under this planner's models.
  [[nodiscard]] Result<Plan> simulate(const Workload& workload, const Plan& plan) const {
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_planner_simulate(get(), workload.get(), plan.get(), out, error);
    });
  }
  [[nodiscard]] const neuroshard_planner* get() const { return handle_.get(); }

 private:
  static std::vector<const neuroshard_cost_models*> handles_of(std::span<const CostModels> models) {
    std::vector<const neuroshard_cost_models*> handles;
    for (const CostModels& one : models) handles.push_back(one.get());
    return handles;
  }
  static neuroshard_plan_options c_struct(const PlanOptions& options) {
    auto given = detail::versioned<neuroshard_plan_options>();
    given.algorithm = detail::text(options.algorithm);
    given.seed = options.seed;
    given.time_limit_s = options.time_limit_s;
    given.evaluations = options.evaluations;
    given.threads = options.threads;
    given.row_splits = options.row_splits;
    given.data_parallel = options.data_parallel ? 1 : 0;
    given.equal_columns = options.equal_columns ? 1 : 0;
    given.target = detail::text(options.target);
    given.whole_tables = options.whole_tables ? 1 : 0;
    given.hot_rows = options.hot_rows ? 1 : 0;
    given.hot_memory_bytes = options.hot_memory_bytes;
    if (options.cancellation != nullptr) given.cancellation = options.cancellation->get();
    if (options.progress) {
      given.progress = detail::hand_on;
      given.progress_user_data = const_cast<Progress*>(&options.progress);
    }
    return given;
  }

  detail::Handle<neuroshard_planner, neuroshard_planner_destroy> handle_;
};

}  // namespace api
}  // namespace neuroshard

#endif
