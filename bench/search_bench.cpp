// What a search is made of, in nanoseconds an evaluation: the compute head, the table encoder,
// complete plans; beside each what this machine's core could do at best. Then whole searches by
// task size. All instruction sets in one run, taken in turns, and the plans compared; single
// operations also on several threads at once.
//
//   search_bench [--cost-model M] [--tables F --tasks F] [--devices N] [--device-memory S]
//                [--repeat R] [--threads T] [--operations] [--json F]
#include <boost/program_options.hpp>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "bench/search/operations.h"
#include "bench/search/searches.h"
#include "bench/search/setup.h"
#include "bench/support/report.h"
#include "bench/support/roofline.h"
#include "engine/core/version.h"

namespace neuroshard::bench {
namespace {

constexpr double kSecondsPerRound = 0.004;

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

Status run(const boost::program_options::variables_map& flags, const SearchFiles& files) {
  NEUROSHARD_ASSIGN_OR_RETURN(SearchSetup setup, load_setup(files));
  setup.repeat = std::max(1, flags["repeat"].as<int>());
  std::printf("neuroshard %s (%s), cost model %s, %d devices, %zu %s, median (quartiles) of %d\n",
              version(), commit(), files.cost_model.c_str(), setup.cluster.devices,
              setup.workloads.size(), files.tasks.empty() ? "generated tasks" : "tasks",
              setup.repeat);
#ifndef __OPTIMIZE__
  std::printf("WARNING: built without optimisation\n");
#endif
  Report report;
  run_operations(setup, flags["threads"].as<int>(), report);
  if (!flags["operations"].as<bool>()) run_searches(setup, report);
  return report.write(flags["json"].as<std::string>());
}

}  // namespace
}  // namespace neuroshard::bench

int main(int argc, char** argv) try {
  namespace po = boost::program_options;
  neuroshard::bench::SearchFiles files;
  po::options_description description("search_bench");
  auto add = description.add_options();
  add("cost-model", po::value(&files.cost_model), "shipped name or file");
  add("tables", po::value(&files.tables), "pool that the tasks' ids point into");
  add("tasks", po::value(&files.tasks), "one task a line; without, tasks are generated");
  add("devices", po::value(&files.devices), "devices of every plan");
  add("device-memory", po::value(&files.device_memory), "of each device");
  add("repeat", po::value<int>()->default_value(9), "rounds");
  const auto threads = static_cast<int>(std::thread::hardware_concurrency());
  add("threads", po::value<int>()->default_value(threads), "of single operations");
  add("operations", po::bool_switch(), "no whole searches");
  add("json", po::value<std::string>()->default_value(""), "also to this file");
  po::variables_map flags;
  po::store(po::parse_command_line(argc, argv, description), flags);
  po::notify(flags);
  const neuroshard::Status status = neuroshard::bench::run(flags, files);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
