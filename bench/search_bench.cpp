// What a search is made of, in nanoseconds an evaluation: the compute head, the table encoder,
// complete plans; beside each what this machine's core could do at best. Then whole searches by
// task size. All instruction sets in one run, taken in turns, and the plans compared; single
// operations also on several threads at once.
//
//   search_bench [--cost-model M] [--tables F --tasks F] [--devices N] [--device-memory S]
//                [--repeat R] [--threads T] [--operations] [--json F]
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "apps/flags/common_flags.h"
#include "bench/search/operations.h"
#include "bench/search/searches.h"
#include "bench/search/setup.h"
#include "bench/support/flags.h"
#include "bench/support/report.h"
#include "bench/support/roofline.h"
#include "engine/core/version.h"

namespace neuroshard::bench {
namespace {

constexpr double kSecondsPerRound = 0.004;

struct Flags {
  SearchFiles files;
  int repeat = 9;
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  bool operations = false;
  std::string json;
};

/// One subject for every instruction set in turns, then the best of them on all threads.
void run_subject(const std::vector<Subject>& subjects, const std::vector<nn::Isa>& isas,
                 const SearchSetup& setup, int threads, Report& report) {
  std::vector<Operation> operations;
  std::vector<std::int64_t> calls;
  for (const Subject& subject : subjects) {
    operations.push_back(subject.make());
    calls.push_back(calls_within(operations.back(), kSecondsPerRound));
  }
  std::vector<std::vector<double>> rounds(isas.size());
  std::vector<std::vector<double>> floors(isas.size());
  std::vector<std::vector<double>> shares(isas.size());
  for (int round = 0; round < setup.repeat; ++round) {
    for (std::size_t k = 0; k < isas.size(); ++k) {
      floors[k].push_back(subjects[k].floor_ns(measure_roofline(isas[k])));
      rounds[k].push_back(nanoseconds(operations[k], calls[k]));
      shares[k].push_back(floors[k].back() / rounds[k].back());
    }
  }
  for (std::size_t k = 0; k < isas.size(); ++k) {
    Row row{subjects[k].name, std::string(to_string(isas[k])), "ns", 1, figure_of(rounds[k])};
    row.per_second = 1e9 / row.figure.median;
    row.floor = figure_of(floors[k]).median;
    row.share = figure_of(shares[k]).median;
    report.add(row);
  }
  if (threads < 2) return;
  std::vector<Operation> together;
  for (int k = 0; k < threads; ++k) together.push_back(subjects.back().make());
  std::vector<double> times;
  for (int round = 0; round < setup.repeat; ++round) {
    times.push_back(1e9 / rate_together(together, calls.back()));
  }
  Row row{subjects.back().name, std::string(to_string(isas.back())), "ns", threads,
          figure_of(times)};
  row.per_second = 1e9 / row.figure.median;
  report.add(row);
}

void run_operations(const SearchSetup& setup, int threads, Report& report) {
  const std::vector<nn::Isa> isas = usable_isas();
  for (const nn::Isa isa : isas) {
    const Roofline roofline = measure_roofline(isa);
    if (roofline.lanes > 0) report.add_roofline(isa, roofline);
  }
  for (const auto family : {head_subjects, encoder_subjects, plan_subjects}) {
    std::vector<std::vector<Subject>> by_isa;
    for (const nn::Isa isa : isas) by_isa.push_back(family(setup, isa));
    for (std::size_t at = 0; at < by_isa.front().size(); ++at) {
      std::vector<Subject> subjects;
      for (std::vector<Subject>& list : by_isa) subjects.push_back(std::move(list[at]));
      run_subject(subjects, isas, setup, threads, report);
    }
  }
}

Status run(const Flags& flags) {
  const SearchFiles& files = flags.files;
  NEUROSHARD_ASSIGN_OR_RETURN(SearchSetup setup, load_setup(files));
  setup.repeat = flags.repeat;
  std::printf("neuroshard %s (%s), cost model %s, %d devices, %zu %s, median (quartiles) of %d\n",
              version(), commit(), files.cost_model.c_str(), setup.cluster.devices,
              setup.workloads.size(), files.tasks.empty() ? "generated tasks" : "tasks",
              setup.repeat);
#ifndef __OPTIMIZE__
  std::printf("WARNING: built without optimisation\n");
#endif
  Report report;
  run_operations(setup, flags.threads, report);
  if (!flags.operations) run_searches(setup, report);
  return report.write(flags.json);
}

std::optional<int> read(std::vector<std::string> words, Flags& flags) {
  flags.operations = std::erase(words, "--operations") > 0;
  SearchFiles& files = flags.files;
  apps::FlagSet set;
  set.text("cost-model", "M", "shipped name or file", &files.cost_model);
  set.text("tables", "FILE", "pool that the tasks' ids point into", &files.tables);
  set.text("tasks", "FILE", "one task a line; without, tasks are generated", &files.tasks);
  set.integer("devices", "devices of every plan", &files.devices, 1, kMaxDevices);
  set.bytes("device-memory", "of each device", &files.device_memory).default_text("4GiB");
  set.integer("repeat", "rounds", &flags.repeat, 1, kMaxRounds);
  set.integer("threads", "of single operations", &flags.threads, 1, apps::kMaxThreads);
  set.text("json", "FILE", "the figures, also to this file", &flags.json);
  return read_flags(set,
                    "What a search is made of, then whole searches; with --operations (no value) "
                    "the former alone.",
                    words);
}

}  // namespace
}  // namespace neuroshard::bench

int main(int argc, char** argv) {
  neuroshard::bench::Flags flags;
  if (const auto code = neuroshard::bench::read({argv, argv + argc}, flags)) return *code;
  return neuroshard::bench::exit_code_of(neuroshard::bench::run(flags));
}
