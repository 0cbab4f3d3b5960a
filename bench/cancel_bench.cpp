// How long a search goes on after it was cancelled, by size of the task: the longest and the median
// of cancellations at different moments, the first at the very start, and how many came before
// there was any plan.
//
//   cancel_bench [--algorithm A] [--rounds N]
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/support/flags.h"
#include "engine/core/version.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/table_pool.h"
#include "engine/planner/planner.h"

namespace neuroshard {
namespace {

using Clock = std::chrono::steady_clock;

struct Task {
  int tables;
  std::int32_t devices;
};

/// How one cancelled search ended.
struct Ending {
  double milliseconds = 0;  ///< from cancelling to the return; negative: it had ended by itself
  double cpu_ms = 0;        ///< what all threads computed in that time: a busy machine adds nothing
  bool has_plan = false;
};

double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

Ending cancel_after(const Workload& workload, const Cluster& cluster, const CostModels& models,
                    PlanOptions options, std::chrono::microseconds moment) {
  CancelToken token;
  options.cancel = &token;
  Clock::time_point cancelled;
  double cpu = 0;
  std::thread other([&] {
    std::this_thread::sleep_for(moment);
    cancelled = Clock::now();
    cpu = cpu_milliseconds();
    token.cancel();
  });
  const Result<PlanResult> result = make_plan(workload, cluster, models, options);
  const Clock::time_point returned = Clock::now();
  const double cpu_at_return = cpu_milliseconds();
  other.join();
  const double milliseconds =
      std::chrono::duration<double, std::milli>(returned - cancelled).count();
  return {result.ok() && !result->stopped_early ? -1 : milliseconds, cpu_at_return - cpu,
          result.ok()};
}

void run(const CostModels& models, const std::string& algorithm, const Task& task, int rounds) {
  const Result<Workload> workload = generate_tables({.count = task.tables, .seed = 1});
  if (!workload.ok()) {
    std::printf("%s\n", workload.status().message().c_str());
    return;
  }
  const Cluster cluster{.devices = task.devices, .memory_bytes = std::int64_t{1} << 42};
  std::vector<double> latencies;
  double most_cpu = 0;
  int without_plan = 0;
  for (int round = 0; round < rounds; ++round) {
    const PlanOptions options{.algorithm = algorithm, .threads = 0, .time_limit_s = 10};
    const Ending ending = cancel_after(*workload, cluster, models, options,
                                       std::chrono::microseconds(1500 * round * round));
    if (ending.milliseconds < 0) continue;
    latencies.push_back(ending.milliseconds);
    most_cpu = std::max(most_cpu, ending.cpu_ms);
    without_plan += ending.has_plan ? 0 : 1;
  }
  if (latencies.empty()) {
    std::printf("%-12s %6d %7d  ended before every cancellation\n", algorithm.c_str(), task.tables,
                task.devices);
    return;
  }
  std::sort(latencies.begin(), latencies.end());
  std::printf("%-12s %6d %7d %6zu %8d %10.2f %10.2f %10.2f\n", algorithm.c_str(), task.tables,
              task.devices, latencies.size(), without_plan, latencies[latencies.size() / 2],
              latencies.back(), most_cpu);
}

int main_of(int argc, char** argv) {
  std::optional<std::string> only;
  int rounds = 12;
  apps::FlagSet flags;
  flags.choice("algorithm", "A", "the search", &only, algorithm_names())
      .default_text("neuroshard, then refine");
  flags.integer("rounds", "cancellations of each task", &rounds, 1, 1000);
  const auto code =
      bench::read_flags(flags, "How long cancelled searches go on.", {argv, argv + argc});
  if (code) return *code;
  std::vector<std::string> algorithms{"neuroshard", "refine"};
  if (only) algorithms = {*only};
  const Result<NamedCostModels> models = load_shipped_models(kDefaultCostModel);
  if (!models.ok()) return 1;
  std::printf("neuroshard %s (%s), %u hardware threads, milliseconds\n", version(), commit(),
              std::thread::hardware_concurrency());
  std::printf("%-12s %6s %7s %6s %8s %10s %10s %10s\n", "algorithm", "tables", "devices", "rounds",
              "no plan", "median", "longest", "most CPU");
  for (const std::string& algorithm : algorithms) {
    for (const Task task :
         {Task{26, 8}, Task{100, 8}, Task{1000, 8}, Task{1000, 64}, Task{3000, 128}}) {
      run(models->models, algorithm, task, rounds);
    }
  }
  return 0;
}

}  // namespace
}  // namespace neuroshard

int main(int argc, char** argv) { return neuroshard::main_of(argc, argv); }
