#include "bench/refine/versus.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/core/shard_bytes.h"

namespace neuroshard::bench {
namespace {

struct Task {
  Workload workload;
  Cluster cluster;
};

/// The paper's way: up to 15 tables a device, redrawn until they take at most 15/16 of the memory.
Workload draw_task(const Setup& setup, const Cluster& cluster, Rng& rng) {
  for (;;) {
    Workload workload =
        draw(setup, rng.between(cluster.devices * 5 / 2, cluster.devices * 15 - 1), rng);
    if (workload_bytes(workload) <= cluster.memory_bytes / 16 * 15 * cluster.devices)
      return workload;
  }
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

}  // namespace

void given_tasks(const Setup& setup) {
  against_others(setup, "given tasks, " + std::to_string(setup.devices) + " devices of 4 GiB",
                 tasks_on(cluster_of(setup.devices, 4 * kGiB), setup.tasks), baseline_names());
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

}  // namespace neuroshard::bench
