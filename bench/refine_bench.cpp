// What `refine` is worth, in ratios of one run: against every other algorithm on given tasks, the
// optimum of small ones, tight memory, few tables a device, lookups that have changed, thousands of
// tables and devices, and more threads.
//
//   refine_bench --tables POOL [--cost-model M] [--tasks F --devices N] [--seconds S |
//   --evaluations E]
//                [--threads T]
//
// POOL: tables that tasks are drawn from (the 856 DLRM tables for the figures in
// docs/BENCHMARKS.md).
#include <cstdio>
#include <string>
#include <vector>

#include "apps/flags/common_flags.h"
#include "bench/refine/drift.h"
#include "bench/refine/scaling.h"
#include "bench/refine/setup.h"
#include "bench/refine/versus.h"
#include "bench/support/flags.h"
#include "engine/core/version.h"
#include "io/tables/tables.h"
#include "io/tables/tasks.h"

namespace neuroshard::bench {
namespace {

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
    given_tasks(setup);
    return;
  }
  against_optimum(setup);
  tight_memory(setup);
  few_tables(setup);
  drifted_lookups(setup);
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
  if (const auto code = read_flags(flags, "What refine is worth.", words)) return *code;
  if (const Status status = load(files, setup); !status.ok()) return exit_code_of(status);
  run(setup);
  return 0;
}

}  // namespace
}  // namespace neuroshard::bench

int main(int argc, char** argv) { return neuroshard::bench::main_of({argv, argv + argc}); }
