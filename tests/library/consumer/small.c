#include <string.h>

#include "consumer.h"

static void add(neuroshard_workload* workload, const char* name, int64_t rows, int32_t dim,
                neuroshard_error* error) {
  neuroshard_table table;
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  table.name = text(name);
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = 5;
  table.zipf_alpha = 1.05;
  must(neuroshard_workload_add_table(workload, &table, error), error, "add table");
}

static void count_updates(void* user_data, neuroshard_text phase, int64_t done, int64_t total,
                          neuroshard_text unit) {
  expect(phase.size > 0 && unit.size > 0 && done <= total, "progress makes sense");
  ++*(int*)user_data;
}

static void count_lines(void* user_data, int32_t level, neuroshard_text message) {
  expect(level >= NEUROSHARD_LOG_INFO && message.size > 0, "log lines have text");
  ++*(int*)user_data;
}

/* One whole table on each of two devices costs what simulating that says, and no less than the
   plan that was searched for. */
static void simulate_by_hand(const neuroshard_planner* planner, const neuroshard_workload* workload,
                             const neuroshard_cluster* cluster, double searched_ms,
                             neuroshard_error* error) {
  const neuroshard_shard shards[2] = {{0, 1000000, 0, 64, 0, 0, 0, 0, 0},
                                      {0, 500000, 0, 32, 1, 1, NEUROSHARD_KERNEL_FUSED, 0, 0}};
  neuroshard_device_cost costs[2];
  neuroshard_plan_info info;
  neuroshard_plan* plan = NULL;
  neuroshard_plan* costed = NULL;
  neuroshard_explanation* explanation = NULL;
  neuroshard_table_explanation table;
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  must(neuroshard_plan_create(2, 65536, shards, 2, &plan, error), error, "plan by hand");
  must(neuroshard_planner_simulate(planner, workload, plan, &costed, error), error, "simulate");
  must(neuroshard_plan_get_info(costed, &info, error), error, "info");
  must(neuroshard_plan_get_device_costs(costed, costs, 2, error), error, "costs");
  expect(info.device_cost_count == 2 && info.shard_count == 2, "counts of the plan by hand");
  expect(info.cost_ms == costs[0].total_ms || info.cost_ms == costs[1].total_ms,
         "the slowest device is the plan's cost");
  expect(costs[0].memory_bytes == 1000000 * 64 * 4, "memory of device 0");
  expect(info.cost_ms >= searched_ms, "the search does no worse");
  must(neuroshard_planner_explain(planner, workload, costed, cluster, NULL, &explanation, error),
       error, "explain");
  neuroshard_plan_destroy(costed); /* an explanation keeps what it needs */
  neuroshard_plan_destroy(plan);
  expect(neuroshard_explanation_table_count(explanation) == 2, "both tables are explained");
  must(neuroshard_explanation_get_table(explanation, 0, &table, error), error, "explained table");
  expect(table.shard_count == 1 && table.shards[0].device == table.table, "where the table is");
  expect(table.considered > 0 && table.next_best_count > 0 && table.next_best_ms > 0, "what else");
  neuroshard_explanation_destroy(explanation);
}

/* A plan for two cost models says what each of them says of it. */
static void plan_for_two(const neuroshard_planner* planner, const neuroshard_workload* workload,
                         const neuroshard_cluster* cluster, neuroshard_error* error) {
  neuroshard_cost_models* formula = NULL;
  neuroshard_plan* plan = NULL;
  neuroshard_plan_options options;
  neuroshard_robust_cost cost;
  const neuroshard_cost_models* others[1];
  memset(&options, 0, sizeof options);
  memset(&cost, 0, sizeof cost);
  options.struct_size = sizeof options;
  options.evaluations = 500;
  cost.struct_size = sizeof cost;
  must(neuroshard_cost_models_shipped(text("torchrec"), &formula, error), error, "formula");
  others[0] = formula;
  must(
      neuroshard_planner_plan_robust(planner, others, 1, workload, cluster, &options, &plan, error),
      error, "plan for two cost models");
  neuroshard_cost_models_destroy(formula);
  expect(neuroshard_plan_robust_cost_count(plan) == 2, "both say something");
  must(neuroshard_plan_get_robust_cost(plan, 1, &cost, error), error, "robust cost");
  expect(strcmp(cost.cost_model.data, "torchrec") == 0, "the other one is the second");
  expect(cost.best_ms > 0 && cost.cost_ms >= cost.best_ms && cost.regret >= 0, "its regret");
  neuroshard_plan_destroy(plan);
}

void check_small_workload(neuroshard_error* error) {
  int updates = 0;
  int lines = 0;
  double bound_ms = -1;
  neuroshard_cost_models* models = NULL;
  neuroshard_planner* planner = NULL;
  neuroshard_workload* workload = NULL;
  neuroshard_plan* plan = NULL;
  neuroshard_cancellation* cancellation = NULL;
  neuroshard_planner_options planner_options;
  neuroshard_cluster cluster;
  neuroshard_plan_options options;
  neuroshard_plan_info info;
  memset(&planner_options, 0, sizeof planner_options);
  memset(&cluster, 0, sizeof cluster);
  memset(&options, 0, sizeof options);
  memset(&info, 0, sizeof info);
  planner_options.struct_size = sizeof planner_options;
  planner_options.log = count_lines;
  planner_options.log_user_data = &lines;
  cluster.struct_size = sizeof cluster;
  cluster.devices = 2;
  cluster.memory_bytes = 1000000000;
  info.struct_size = sizeof info;
  must(neuroshard_cancellation_create(&cancellation, error), error, "cancellation");
  options.struct_size = sizeof options;
  options.algorithm = text("neuroshard");
  options.seed = 7;
  options.time_limit_s = 60;
  options.threads = 2;
  options.progress = count_updates;
  options.progress_user_data = &updates;
  options.cancellation = cancellation;
  must(neuroshard_cost_models_shipped(text("h200_sim"), &models, error), error, "models");
  must(neuroshard_planner_create(models, &planner_options, &planner, error), error, "planner");
  neuroshard_cost_models_destroy(models); /* the planner keeps what it needs */
  must(neuroshard_workload_create(65536, &workload, error), error, "workload");
  add(workload, "user", 1000000, 64, error);
  add(workload, "item", 500000, 32, error);
  must(neuroshard_planner_plan(planner, workload, &cluster, &options, &plan, error), error, "plan");
  must(neuroshard_plan_get_info(plan, &info, error), error, "info");
  expect(info.cost_ms > 0 && info.seed == 7 && !info.stopped_early, "what the plan says of itself");
  expect(updates > 0 && lines > 0, "callbacks were called");
  simulate_by_hand(planner, workload, &cluster, info.cost_ms, error);
  plan_for_two(planner, workload, &cluster, error);
  must(neuroshard_planner_lower_bound(planner, workload, &cluster, &options, &bound_ms, error),
       error, "lower bound");
  expect(bound_ms == 0 && info.lower_bound_ms == 0, "networks know no bound");
  neuroshard_plan_destroy(plan);
  neuroshard_cancel(cancellation);
  expect(neuroshard_planner_plan(planner, workload, &cluster, &options, &plan, error) ==
             NEUROSHARD_CANCELLED,
         "cancelled before the start: no plan");
  expect(plan == NULL && neuroshard_error_message(error).size > 0, "and why");
  neuroshard_workload_destroy(workload);
  neuroshard_planner_destroy(planner);
  neuroshard_cancellation_destroy(cancellation);
}
