// What `refine` is worth, in ratios of one run: against every other algorithm on given tasks, the
// optimum of small ones, tight memory, few tables a device, thousands of tables and devices, and
// more threads.
//
//   refine_bench --tables POOL [--cost-model M] [--tasks F --devices N] [--seconds S |
//   --evaluations E]
//                [--threads T]
//
// POOL: tables that tasks are drawn from (the 856 DLRM tables for the figures in the README).
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/flags/common_flags.h"
#include "bench/support/flags.h"
#include "engine/core/rng.h"
#include "engine/core/version.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner.h"
#include "io/tables/tables.h"
#include "io/tables/tasks.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

struct Task {
  Workload workload;
  Cluster cluster;
};

struct Setup {
  NamedCostModels models;
  io::TableFile pool;
  std::vector<Workload> tasks;
  int devices = 4;
  double seconds = 0.1;
  std::int64_t evaluations = 0;  // instead of the seconds: the same plans on every run
  int threads = 2;
};

Cluster cluster_of(std::int32_t devices, std::int64_t memory_bytes) {
  Cluster cluster;
  cluster.devices = devices;
  cluster.memory_bytes = memory_bytes;
  return cluster;
}

/// `count` tables of the pool, with repetition, of random dims up to 128.
Workload draw(const Setup& setup, std::int64_t count, Rng& rng) {
  Workload workload;
  workload.batch_size = setup.models.models.batch_size;
  for (std::int64_t k = 0; k < count; ++k) {
    workload.tables.push_back(setup.pool.tables[rng.below(setup.pool.tables.size())]);
    workload.tables.back().dim = static_cast<std::int32_t>(4 << rng.below(6));
  }
  return workload;
}

/// The paper's way: up to 15 tables a device, redrawn until they take at most 15/16 of the memory.
Workload draw_task(const Setup& setup, const Cluster& cluster, Rng& rng) {
  for (;;) {
    Workload workload =
        draw(setup, rng.between(cluster.devices * 5 / 2, cluster.devices * 15 - 1), rng);
    if (workload_bytes(workload) <= cluster.memory_bytes / 16 * 15 * cluster.devices)
      return workload;
  }
}

std::vector<ComparedPlan> compare(const Setup& setup, const Workload& workload,
                                  const Cluster& cluster, const std::vector<std::string>& names,
                                  const PlanOptions& options) {
  auto compared = compare_plans(workload, cluster, setup.models.models, names, options);
  if (!compared.ok()) {
    std::fprintf(stderr, "%s\n", compared.status().message().c_str());
    std::exit(2);
  }
  return std::move(compared).value();
}

/// `refine` against one other algorithm over tasks that both solve.
struct Versus {
  int both = 0;
  int dearer = 0;
  double sum = 0;
  double worst = -1;

  void add(double cost, double other) {
    const double ratio = cost / other - 1;
    ++both;
    dearer += ratio > 0;
    sum += ratio;
    worst = std::max(worst, ratio);
  }
  void print(const std::string& name) const {
    if (both == 0) return;
    std::printf("  refine against %-19s %3d tasks, mean %+7.2f %%, worst %+7.2f %%, dearer on %d\n",
                name.c_str(), both, 100 * sum / both, 100 * worst, dearer);
  }
};

std::vector<Task> tasks_on(const Cluster& cluster, std::vector<Workload> workloads) {
  std::vector<Task> tasks;
  for (Workload& workload : workloads) tasks.push_back({std::move(workload), cluster});
  return tasks;
}

void against_others(const Setup& setup, const std::string& title, const std::vector<Task>& tasks,
                    std::vector<std::string> others) {
  PlanOptions options;
  options.evaluations = setup.evaluations;
  if (setup.evaluations == 0) options.time_limit_s = setup.seconds;
  others.emplace_back(default_algorithm());
  std::vector<Versus> versus(others.size());
  std::vector<int> solved(others.size(), 0);
  int lost = 0;  // by refine, solved by another
  for (const auto& [workload, cluster] : tasks) {
    const std::vector<ComparedPlan> plans = compare(setup, workload, cluster, others, options);
    const Result<PlanResult>& refined = plans.back().result;
    bool any = false;
    for (std::size_t k = 0; k < plans.size(); ++k) {
      if (!plans[k].result.ok()) continue;
      any = true;
      ++solved[k];
      if (refined.ok()) versus[k].add(refined->cost.cost_ms, plans[k].result->cost.cost_ms);
    }
    lost += any && !refined.ok();
  }
  std::printf("\n%s: %zu tasks, refine with ", title.c_str(), tasks.size());
  if (setup.evaluations > 0) {
    std::printf("%lld plans a task\n", static_cast<long long>(setup.evaluations));
  } else {
    std::printf("%.2f s a task\n", setup.seconds);
  }
  for (std::size_t k = 0; k + 1 < others.size(); ++k) versus[k].print(others[k]);
  std::printf("  solved:");
  for (std::size_t k = 0; k < others.size(); ++k) {
    std::printf(" %s %d", others[k].c_str(), solved[k]);
  }
  std::printf("; by another and not by refine %d\n", lost);
}

void against_optimum(const Setup& setup) {
  Rng rng(1);
  std::vector<Workload> tasks;
  for (int k = 0; k < 100; ++k) tasks.push_back(draw(setup, rng.between(5, 11), rng));
  const Cluster cluster = cluster_of(4, 16 * kGiB);
  against_others(setup, "random small tasks, 4 devices", tasks_on(cluster, std::move(tasks)),
                 {"neuroshard", "anneal", "exact"});
}

void tight_memory(const Setup& setup) {
  Rng rng(2);
  const Cluster cluster = cluster_of(16, 4 * kGiB);
  std::vector<Workload> tasks;
  for (int k = 0; k < 40; ++k) tasks.push_back(draw_task(setup, cluster, rng));
  against_others(setup, "16 devices of 4 GiB", tasks_on(cluster, std::move(tasks)),
                 baseline_names());
}

/// One to four tables a device, in 1.02 to 1.3 times the memory that their bytes in all need.
void few_tables(const Setup& setup) {
  Rng rng(5);
  std::vector<Task> tasks;
  for (int k = 0; k < 20; ++k) {
    const auto devices = static_cast<std::int32_t>(8 << rng.below(5));
    Workload workload = draw(setup, rng.between(devices, 4 * devices), rng);
    std::int64_t most = workload_bytes(workload) / devices;
    for (const Table& table : workload.tables)
      most = std::max(most, table_bytes(table) / table.dim * 4);
    const double room = 1.02 + 0.28 * rng.uniform();
    const auto memory = static_cast<std::int64_t>(room * static_cast<double>(most)) + 1;
    tasks.push_back({std::move(workload), cluster_of(devices, memory)});
  }
  against_others(setup, "few tables a device, little memory, 8 to 128 devices", tasks,
                 {"neuroshard", "anneal"});
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

long peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

/// The best baseline, the first plan and what longer searches make of it.
void scale(const Setup& setup, const char* title, const Workload& workload, const Cluster& cluster,
           const std::vector<double>& limits) {
  std::printf("\n%s: %zu tables, %.1f GiB, on %d devices of %.0f GiB\n", title,
              workload.tables.size(), static_cast<double>(workload_bytes(workload)) / kGiB,
              cluster.devices, static_cast<double>(cluster.memory_bytes) / kGiB);
  std::vector<std::string> greedy = baseline_names();
  std::erase(greedy, "neuroshard");
  double best = 0;
  for (const ComparedPlan& plan : compare(setup, workload, cluster, greedy, {})) {
    if (!plan.result.ok()) continue;
    const double cost = plan.result->cost.cost_ms;
    std::printf("  %-20s %9.4f ms in %.3f s\n", plan.algorithm.c_str(), cost, plan.seconds);
    best = best == 0 ? cost : std::min(best, cost);
  }
  for (const double limit : limits) {
    PlanOptions options;
    options.time_limit_s = limit;
    options.threads = setup.threads;
    const std::vector<std::string> names{std::string(default_algorithm())};
    const ComparedPlan plan = std::move(compare(setup, workload, cluster, names, options).front());
    if (!plan.result.ok()) {
      std::printf("  refine: %s\n", plan.result.status().message().c_str());
      continue;
    }
    const double cost = plan.result->cost.cost_ms;
    std::printf("  refine, limit %5.2f s  %9.4f ms in %.3f s", limit, cost, plan.seconds);
    if (best > 0) std::printf(", %+.2f %% against the best baseline", 100 * (cost / best - 1));
    std::printf("; peak memory %ld MiB\n", peak_mib());
  }
}

void threads(const Setup& setup) {
  Rng rng(3);
  const Workload workload = draw(setup, 100, rng);
  std::printf("\nthreads: 100 tables, 8 devices, 2,000,000 plans\n");
  double alone = 0;
  double alone_cpu = 0;
  for (int count = 1; count <= setup.threads; ++count) {
    PlanOptions options;
    options.evaluations = 2000000;
    options.threads = count;
    const double before = cpu_seconds();
    const auto plan = make_plan(workload, cluster_of(8, 64 * kGiB), setup.models.models, options);
    if (!plan.ok()) continue;
    const double cpu = cpu_seconds() - before;
    if (count == 1) {
      alone = plan->seconds;
      alone_cpu = cpu;
    }
    std::printf("  %d: %.3f s, %.2f times one thread; work %.2f times; %.6f ms\n", count,
                plan->seconds, alone / plan->seconds, cpu / alone_cpu, plan->cost.cost_ms);
  }
}

/// How many candidates more threads look at in the same time, and what one costs them.
void restarts(const Setup& setup) {
  constexpr double kSeconds = 2;
  Rng rng(3);
  const Workload workload = draw(setup, 100, rng);
  std::printf("\nthreads: 100 tables, 8 devices, %.0f s\n", kSeconds);
  double alone = 0;
  double alone_cpu = 0;
  for (int count = 1; count <= setup.threads; ++count) {
    PlanOptions options;
    options.time_limit_s = kSeconds;
    options.threads = count;
    const double before = cpu_seconds();
    const auto plan = make_plan(workload, cluster_of(8, 64 * kGiB), setup.models.models, options);
    if (!plan.ok()) continue;
    const auto candidates = static_cast<double>(plan->evaluations);
    const double cpu = cpu_seconds() - before;
    if (count == 1) {
      alone = candidates / plan->seconds;
      alone_cpu = candidates / cpu;
    }
    std::printf(
        "  %d: %.0f candidates a second, %.2f times one thread; "
        "%.0f a CPU second, %.2f times; %.6f ms\n",
        count, candidates / plan->seconds, candidates / plan->seconds / alone, candidates / cpu,
        candidates / cpu / alone_cpu, plan->cost.cost_ms);
  }
}

/// What the setup names of files.
struct Files {
  std::string cost_model = "h200_sim";
  std::string tables;
  std::string tasks;
};

Status load(const Files& files, Setup& setup) {
  NEUROSHARD_ASSIGN_OR_RETURN(setup.models, load_cost_models(files.cost_model));
  NEUROSHARD_ASSIGN_OR_RETURN(setup.pool, io::read_tables(files.tables));
  if (files.tasks.empty()) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<io::Task> tasks, io::read_tasks(files.tasks));
  for (const io::Task& task : tasks) {
    NEUROSHARD_ASSIGN_OR_RETURN(Workload workload, io::make_workload(setup.pool, task));
    setup.tasks.push_back(std::move(workload));
  }
  return {};
}

void run(const Setup& setup) {
  std::printf("neuroshard %s (%s), cost model %s\n", version(), commit(),
              setup.models.name.c_str());
#ifndef __OPTIMIZE__
  std::printf("WARNING: built without optimisation\n");
#endif
  if (!setup.tasks.empty()) {
    against_others(setup, "given tasks, " + std::to_string(setup.devices) + " devices of 4 GiB",
                   tasks_on(cluster_of(setup.devices, 4 * kGiB), setup.tasks), baseline_names());
    return;
  }
  against_optimum(setup);
  tight_memory(setup);
  few_tables(setup);
  Workload all;
  all.batch_size = setup.models.models.batch_size;
  all.tables = setup.pool.tables;
  for (Table& table : all.tables) table.dim = 128;
  scale(setup, "the whole pool", all, cluster_of(128, 40 * kGiB), {0.01, 1});
  Rng rng(4);
  scale(setup, "large", draw(setup, 10000, rng), cluster_of(1024, 16 * kGiB), {0.01, 10});
  threads(setup);
  restarts(setup);
}

int main_of(const std::vector<std::string>& words) {
  Files files;
  Setup setup;
  apps::FlagSet flags;
  flags.text("tables", "POOL", "tables that tasks are drawn from", &files.tables).required();
  flags.text("cost-model", "M", "shipped name or file", &files.cost_model);
  flags.text("tasks", "FILE", "these tasks alone, one a line, 4 GiB a device", &files.tasks);
  flags.integer("devices", "of the tasks", &setup.devices, 1, kMaxDevices);
  flags.number("seconds", "S", "of refine and anneal, a task", &setup.seconds, {0, 1e6});
  flags.integer("evaluations", "plans, instead of seconds; 0: seconds", &setup.evaluations, 0,
                std::int64_t{1} << 40);
  flags.integer("threads", "at most", &setup.threads, 1, apps::kMaxThreads);
  if (const auto code = bench::read_flags(flags, "What refine is worth.", words)) return *code;
  if (const Status status = load(files, setup); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  run(setup);
  return 0;
}

}  // namespace
}  // namespace neuroshard

int main(int argc, char** argv) { return neuroshard::main_of({argv, argv + argc}); }
