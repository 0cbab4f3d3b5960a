#include "bench/refine/drift.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "engine/core/held_cells.h"
#include "engine/core/shard_bytes.h"

namespace neuroshard::bench {
namespace {

constexpr int kTasks = 40;
constexpr std::int64_t kTables = 100;
constexpr std::int32_t kDevices = 8;
constexpr double kRoom = 1.5;   // times the bytes of the tables, all devices together
constexpr double kDrift = 0.5;  // standard deviation of the pooling factors' logarithms
constexpr std::array kShares{0.001, 0.01, 0.03, 0.1, 1.0};

/// Sums over tasks: a plan's gain over the one that runs, and bytes that it moves.
struct Gain {
  double ms = 0;
  double share = 0;  // of all bytes

  void add(const Workload& workload, const Plan& now, double now_ms, const PlanResult& next) {
    ms += now_ms - next.cost.cost_ms;
    share += static_cast<double>(moved_bytes(workload, now, next.plan)) /
             static_cast<double>(workload_bytes(workload));
  }
};

}  // namespace

void drifted_lookups(const Setup& setup) {
  PlanOptions options{
      .threads = setup.threads, .evaluations = setup.evaluations, .row_splits = RowSplits::kOff};
  if (setup.evaluations == 0) options.time_limit_s = setup.seconds;
  Rng rng(5);
  Gain fresh;
  std::array<Gain, kShares.size()> near;
  double now_sum = 0;
  for (int task = 0; task < kTasks; ++task) {
    Workload workload = draw(setup, kTables, rng);
    const auto bytes = static_cast<double>(workload_bytes(workload));
    const Cluster cluster =
        cluster_of(kDevices, static_cast<std::int64_t>(kRoom * bytes / kDevices));
    const CostModels& models = setup.models.models;
    const Plan now = must(make_plan(workload, cluster, models, options)).plan;
    for (Table& table : workload.tables) table.pooling_factor *= std::exp(kDrift * rng.normal());
    const double now_ms = must(simulate(workload, now, models)).cost_ms;
    now_sum += now_ms;
    fresh.add(workload, now, now_ms, must(make_plan(workload, cluster, models, options)));
    for (std::size_t k = 0; k < kShares.size(); ++k) {
      const auto limit = static_cast<std::int64_t>(kShares[k] * bytes);
      near[k].add(workload, now, now_ms,
                  must(replan(workload, cluster, models, now, {.bytes = limit}, options)));
    }
  }
  std::printf(
      "\nlookups drifted: %d tasks of %lld tables on %d devices, rows whole, pooling factors "
      "times exp(%.1f x normal)\n",
      kTasks, static_cast<long long>(kTables), kDevices, kDrift);
  std::printf(
      "  from nothing      %5.1f %% cheaper than the plan that runs, moves %5.1f %% of the bytes\n",
      100 * fresh.ms / now_sum, 100 * fresh.share / kTasks);
  for (std::size_t k = 0; k < kShares.size(); ++k) {
    std::printf("  at most %5.1f %%   %5.1f %% cheaper, %5.1f %% of that gain,  moves %5.2f %%\n",
                100 * kShares[k], 100 * near[k].ms / now_sum, 100 * near[k].ms / fresh.ms,
                100 * near[k].share / kTasks);
  }
}

}  // namespace neuroshard::bench
