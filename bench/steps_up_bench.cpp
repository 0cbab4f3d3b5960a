// How often more is worse: where a plan costs more than the one for the next smaller number of
// evaluations, less memory, fewer devices or fewer hosts. Random generated tables, each task once a
// seed, on one thread without a time limit.
//
//   steps_up_bench [--along evaluations|memory|devices|hosts] [--cost-model M] [--tasks N] [--task
//   N]
//                  [--seeds N] [--budgets E,E,..] [--evaluations E] [--layouts WHAT] [--list yes]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/flags.h"
#include "bench/support/instruction_set.h"
#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/version.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/table_pool.h"
#include "engine/planner/planner.h"

namespace neuroshard::bench {
namespace {

constexpr std::int64_t kMostEvaluations = 1'000'000'000;
constexpr double kStepUp = 1e-3;  // of a cost, above which it counts
constexpr std::array kMemory{1.02, 1.1, 1.3, 1.7, 2.5, 4.0, 8.0};  // times what the tables take
constexpr std::array kTasksMemory{1.1, 4.0};
constexpr std::array kTasksDevices{4, 8, 16, 32};
constexpr std::array kOnOneHost{2, 4, 8};
constexpr std::array kHosts{8, 16, 32, 64};  // devices, eight a host

struct Flags {
  std::string along = "evaluations";
  std::string cost_model = "h200_sim";
  std::int32_t tasks = 100;
  std::optional<std::int32_t> task;
  std::int32_t seeds = 2;
  std::vector<std::int64_t> budgets{300, 1'000, 3'000, 10'000, 30'000, 100'000};
  std::int64_t evaluations = 30'000;
  std::string layouts = "usual";
  std::string list = "no";
};

/// One step along the way, of a task and a seed.
struct Step {
  std::string from;
  std::string to;
  Cluster cluster;
  std::int64_t evaluations = 0;
};

/// Of all tasks.
struct Steps {
  int all = 0;
  int up = 0;
  double sum = 0;
  double worst = 0;

  void add(double before, double after) {
    ++all;
    const double share = after / before - 1;
    if (share <= kStepUp) return;
    ++up;
    sum += share;
    worst = std::max(worst, share);
  }
};

struct Task {
  Workload workload;
  double memory = 0;  // of all devices, times what the tables take
  std::int32_t devices = 0;
};

/// 10 to 200 tables, evenly on a logarithmic scale; four numbers of devices, little memory or much.
Result<Task> make_task(std::int32_t index, const Flags& flags) {
  Rng rng(static_cast<std::uint64_t>(index));
  const auto count = static_cast<std::int32_t>(std::lround(10 * std::pow(20, rng.uniform())));
  NEUROSHARD_ASSIGN_OR_RETURN(
      Workload workload,
      generate_tables({.count = count, .seed = static_cast<std::uint64_t>(index)}));
  for (std::size_t k = 0; flags.layouts == "sequences" && k < workload.tables.size(); k += 5) {
    workload.tables[k].pooled = false;
  }
  const auto k = static_cast<std::size_t>(index);
  return Task{std::move(workload), kTasksMemory[k / kTasksDevices.size() % kTasksMemory.size()],
              kTasksDevices[k % kTasksDevices.size()]};
}

Cluster cluster_of(const Task& task, std::int32_t devices, double memory, std::int32_t of) {
  const double bytes = memory * static_cast<double>(workload_bytes(task.workload)) / of;
  return {.devices = devices, .memory_bytes = static_cast<std::int64_t>(bytes)};
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

/// Each with more than the one before.
std::vector<Step> steps_of(const Task& task, const Flags& flags) {
  std::vector<Step> steps;
  const auto add = [&](double at, const Cluster& cluster, std::int64_t evaluations) {
    const std::string from = steps.empty() ? "" : steps.back().to;
    steps.push_back({from, text_of(at), cluster, evaluations});
  };
  if (flags.along == "evaluations") {
    Cluster cluster = cluster_of(task, task.devices, task.memory, task.devices);
    if (flags.layouts == "host-memory") {
      cluster.host_memory_bytes = workload_bytes(task.workload);
      cluster.memory_bytes /= 2;
    }
    for (const std::int64_t evaluations : flags.budgets) {
      add(static_cast<double>(evaluations), cluster, evaluations);
    }
  } else if (flags.along == "memory") {
    for (const double memory : kMemory) {
      add(memory, cluster_of(task, task.devices, memory, task.devices), flags.evaluations);
    }
  } else if (flags.along == "devices") {
    for (const int devices : kOnOneHost) {
      add(devices, cluster_of(task, devices, task.memory, kOnOneHost.front()), flags.evaluations);
    }
  } else {
    for (const int devices : kHosts) {
      add(devices, cluster_of(task, devices, task.memory, kHosts.front()), flags.evaluations);
    }
  }
  return steps;
}

PlanOptions options_of(const Flags& flags, const Step& step, std::uint64_t seed) {
  PlanOptions options;
  options.seed = seed;
  options.threads = 1;
  options.evaluations = step.evaluations;
  options.data_parallel = flags.layouts == "data-parallel";
  options.hot_rows = flags.layouts == "hot-rows";
  if (flags.layouts == "any-rows") options.row_splits = RowSplits::kAny;
  return options;
}

struct Means {
  double log_sum = 0;
  int count = 0;
};

Status run(const Flags& flags) {
  NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_cost_models(flags.cost_model));
  use_one_instruction_set();
  std::map<std::pair<std::size_t, std::string>, Steps> table;
  std::map<std::size_t, Means> means;
  Steps all;
  const std::int32_t first = flags.task ? *flags.task - 1 : 0;
  const std::int32_t end = flags.task ? *flags.task : flags.tasks;
  for (std::int32_t index = first; index < end; ++index) {
    NEUROSHARD_ASSIGN_OR_RETURN(const Task task, make_task(index, flags));
    const std::vector<Step> steps = steps_of(task, flags);
    for (std::int32_t seed = 0; seed < flags.seeds; ++seed) {
      double before = 0;
      for (std::size_t k = 0; k < steps.size(); ++k) {
        const Step& step = steps[k];
        const Result<PlanResult> found =
            make_plan(task.workload, step.cluster, models.models,
                      options_of(flags, step, static_cast<std::uint64_t>(seed)));
        if (!found.ok()) continue;  // too little memory: nothing that the next could be worse than
        const double cost = found->cost.cost_ms;
        means[k].log_sum += std::log(cost);
        ++means[k].count;
        if (before > 0) {
          table[{k, step.from + " -> " + step.to}].add(before, cost);
          all.add(before, cost);
          if (flags.list == "yes" && cost > before * (1 + kStepUp)) {
            std::printf(
                "task %d, %zu tables, %d devices, memory %.2f, seed %d: %s -> %s %+.2f %%\n", index,
                task.workload.tables.size(), step.cluster.devices, task.memory, seed,
                step.from.c_str(), step.to.c_str(), 100 * (cost / before - 1));
          }
        }
        before = cost;
      }
    }
  }
  std::printf("neuroshard %s (%s), %s, steps up above %.1f %% along %s, %d tasks\n", version(),
              commit(), models.name.c_str(), 100 * kStepUp, flags.along.c_str(), end - first);
  std::printf("%-22s %6s %6s %8s %8s %8s %12s\n", "from -> to", "steps", "up", "share %", "mean %",
              "worst %", "geo mean ms");
  const auto print = [](const std::string& name, const Steps& steps, double mean) {
    std::printf("%-22s %6d %6d %8.2f %8.2f %8.2f %12.6f\n", name.c_str(), steps.all, steps.up,
                100.0 * steps.up / std::max(1, steps.all), 100 * steps.sum / std::max(1, steps.up),
                100 * steps.worst, mean);
  };
  for (const auto& [name, steps] : table) {
    const Means& mean = means[name.first];
    print(name.second, steps, std::exp(mean.log_sum / std::max(1, mean.count)));
  }
  print("all", all, 0);
  return {};
}

int main_of(const std::vector<std::string>& words) {
  Flags own;
  apps::FlagSet flags;
  flags.choice("along", "WHAT", "there is more and more of", &own.along,
               {"evaluations", "memory", "devices", "hosts"});
  flags.text("cost-model", "M", "shipped name or file", &own.cost_model);
  flags.integer("tasks", "random ones", &own.tasks, 1, kMaxRounds);
  flags.integer("task", "only that one of them", &own.task, 1, kMaxRounds);
  flags.integer("seeds", "of the search, for each task", &own.seeds, 1, kMaxRounds);
  flags.integers("budgets", "evaluations, along those, rising", &own.budgets, 1, kMostEvaluations);
  flags.integer("evaluations", "of each plan, along anything else", &own.evaluations, 1,
                kMostEvaluations);
  flags.choice("layouts", "WHAT", "that tables may have", &own.layouts,
               {"usual", "data-parallel", "any-rows", "hot-rows", "host-memory", "sequences"});
  flags.choice("list", "yes|no", "each step up", &own.list, {"yes", "no"});
  if (const auto code = read_flags(flags, "How often more is worse.", words)) return *code;
  return exit_code_of(run(own));
}

}  // namespace
}  // namespace neuroshard::bench

int main(int argc, char** argv) { return neuroshard::bench::main_of({argv, argv + argc}); }
