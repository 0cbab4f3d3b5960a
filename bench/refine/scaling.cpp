#include "bench/refine/scaling.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "engine/core/shard_bytes.h"

namespace neuroshard::bench {
namespace {

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

}  // namespace

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

}  // namespace neuroshard::bench
