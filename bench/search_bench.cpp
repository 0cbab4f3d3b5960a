// What a search is made of, in nanoseconds: placing a shard, encoding a shape, costing complete
// plans; then whole searches by task size. Every figure for all instruction sets in one run, taken
// in turns, and the plans compared.
//
//   search_bench --cost-model F --tables F --tasks F --devices N [--device-memory S] [--repeat R]
#include <time.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/version.h"
#include "engine/cost_model/mlp_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "io/tables.h"
#include "io/tasks.h"
#include "nn/isa.h"
#include "search/sharder.h"

namespace neuroshard {
namespace {

struct Setup {
  CostModels models;
  std::vector<Workload> workloads;  // by number of tables
  Cluster cluster;
  int repeat = 5;
};

/// Seconds this thread computed: a busy machine makes it slower, but not by the time it waits.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of(const std::function<void()>& body) {
  const double start = thread_seconds();
  body();
  return thread_seconds() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<nn::Isa> usable() {
  std::vector<nn::Isa> isas;
  for (const nn::IsaInfo& info : nn::isa_list()) {
    if (info.supported()) isas.insert(isas.begin(), info.isa);
  }
  return isas;  // the scalar reference first
}

std::unique_ptr<MlpEvaluator> evaluator_of(const Setup& setup, const Workload& workload,
                                           nn::Isa isa) {
  auto evaluator = MlpEvaluator::create(setup.models, workload, setup.cluster.devices, isa);
  if (!evaluator.ok()) {
    std::fprintf(stderr, "%s\n", evaluator.status().message().c_str());
    std::exit(2);
  }
  return std::move(evaluator).value();
}

/// One line: a name, then the median of each instruction set's figure and their ratio.
template <typename Measure>
void row(const char* name, const char* unit, const Setup& setup, const Measure& measure) {
  const std::vector<nn::Isa> isas = usable();
  std::vector<std::vector<double>> figures(isas.size());
  for (int round = 0; round < setup.repeat; ++round) {
    for (std::size_t k = 0; k < isas.size(); ++k) figures[k].push_back(measure(isas[k]));
  }
  std::printf("%-28s", name);
  for (std::size_t k = 0; k < isas.size(); ++k) {
    std::printf(" %7s %10.2f %s", std::string(to_string(isas[k])).c_str(), median(figures[k]),
                unit);
  }
  std::printf("   ratio %.2f\n", median(figures.front()) / median(figures.back()));
}

float sink = 0;  // keeps results alive

double place_ns(const Setup& setup, nn::Isa isa) {
  const Workload& workload = setup.workloads.back();
  const auto evaluator = evaluator_of(setup, workload, isa);
  const auto tables = static_cast<std::int32_t>(workload.tables.size());
  for (std::int32_t table = 0; table < tables; ++table) {
    evaluator->intern(shape_of(whole_table(workload, table, 0)));
  }
  const auto devices = static_cast<std::size_t>(setup.cluster.devices);
  AlignedVector<float> states(devices * evaluator->state_size());
  constexpr int kRounds = 2000;
  const double seconds = seconds_of([&] {
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t d = 0; d < devices; ++d) {
        evaluator->clear(states.data() + d * evaluator->state_size());
      }
      for (std::int32_t table = 0; table < tables; ++table) {
        const std::size_t d = static_cast<std::size_t>(table) % devices;
        sink = sink + evaluator->place(table, states.data() + d * evaluator->state_size());
      }
    }
  });
  return seconds * 1e9 / kRounds / tables;
}

double encode_ns(const Setup& setup, nn::Isa isa) {
  const Workload& workload = setup.workloads.back();
  const auto evaluator = evaluator_of(setup, workload, isa);
  std::int64_t shapes = 0;
  const double seconds = seconds_of([&] {
    for (std::size_t table = 0; table < workload.tables.size(); ++table) {
      for (std::int32_t dim = 4; dim <= 256; dim += 4, ++shapes) {
        evaluator->intern({static_cast<std::int32_t>(table), workload.tables[table].rows, dim});
      }
    }
  });
  return seconds * 1e9 / static_cast<double>(shapes);
}

double plan_cost_ns(const Setup& setup, nn::Isa isa, int plans) {
  const auto evaluator = evaluator_of(setup, setup.workloads.back(), isa);
  const auto values = static_cast<std::size_t>(plans * setup.cluster.devices);
  const std::vector<float> compute(values, 5.0f);
  const std::vector<std::int64_t> dims(values, 300);
  std::vector<double> costs(static_cast<std::size_t>(plans));
  search::Scratch scratch;
  constexpr int kRounds = 1000;
  const double seconds = seconds_of([&] {
    for (int round = 0; round < kRounds; ++round) {
      evaluator->plan_costs({plans, compute, dims}, costs, scratch);
      sink = sink + static_cast<float>(costs[0]);
    }
  });
  return seconds * 1e9 / kRounds / plans;
}

/// Mean seconds of the searches of workloads [begin, end); adds each plan's cost to `costs`.
double search_ms(const Setup& setup, nn::Isa isa, std::size_t begin, std::size_t end,
                 std::vector<double>& costs) {
  double seconds = 0;
  for (std::size_t k = begin; k < end; ++k) {
    const auto evaluator = evaluator_of(setup, setup.workloads[k], isa);
    seconds += seconds_of([&] {
      const auto found = search::find_algorithm("neuroshard")
                             ->run({setup.workloads[k], setup.cluster}, *evaluator, {});
      costs.push_back(found.ok() ? evaluator->evaluate(found->plan).cost_ms : -1);
    });
  }
  return seconds * 1e3 / static_cast<double>(end - begin);
}

void search_rows(const Setup& setup) {
  const std::size_t count = setup.workloads.size();
  const std::size_t parts = std::min<std::size_t>(4, count);
  double worst = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = count * part / parts;
    const std::size_t end = count * (part + 1) / parts;
    const std::string name = "search, " + std::to_string(setup.workloads[begin].tables.size()) +
                             ".." + std::to_string(setup.workloads[end - 1].tables.size()) +
                             " tables";
    std::vector<double> reference;
    row(name.c_str(), "ms", setup, [&](nn::Isa isa) {
      std::vector<double> costs;
      const double ms = search_ms(setup, isa, begin, end, costs);
      if (reference.empty()) reference = costs;  // the scalar one runs first
      for (std::size_t k = 0; k < costs.size(); ++k) {
        worst = std::max(worst, std::abs(costs[k] / reference[k] - 1));
      }
      return ms;
    });
  }
  std::printf("largest difference of plan costs between instruction sets: %.1e\n", worst);
}

Result<Setup> load(const boost::program_options::variables_map& flags) {
  Setup setup;
  NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels named,
                              load_cost_models(flags["cost-model"].as<std::string>()));
  setup.models = std::move(named.models);
  NEUROSHARD_ASSIGN_OR_RETURN(const io::TableFile pool,
                              io::read_tables(flags["tables"].as<std::string>()));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<io::Task> tasks,
                              io::read_tasks(flags["tasks"].as<std::string>()));
  for (const io::Task& task : tasks) {
    NEUROSHARD_ASSIGN_OR_RETURN(Workload workload, io::make_workload(pool, task));
    setup.workloads.push_back(std::move(workload));
  }
  std::stable_sort(
      setup.workloads.begin(), setup.workloads.end(),
      [](const Workload& a, const Workload& b) { return a.tables.size() < b.tables.size(); });
  setup.cluster.devices = flags["devices"].as<int>();
  NEUROSHARD_ASSIGN_OR_RETURN(setup.cluster.memory_bytes,
                              parse_bytes(flags["device-memory"].as<std::string>()));
  NEUROSHARD_RETURN_IF_ERROR(validate(setup.cluster));
  setup.repeat = std::max(1, flags["repeat"].as<int>());
  return setup;
}

void run(const Setup& setup) {
  std::printf("neuroshard %s (%s), %d devices, %zu tasks, median of %d, one thread\n", version(),
              commit(), setup.cluster.devices, setup.workloads.size(), setup.repeat);
#ifndef __OPTIMIZE__
  std::printf("WARNING: built without optimisation\n");
#endif
  row("place a shard", "ns", setup, [&](nn::Isa isa) { return place_ns(setup, isa); });
  row("encode a shape", "ns", setup, [&](nn::Isa isa) { return encode_ns(setup, isa); });
  row("cost a plan, alone", "ns", setup, [&](nn::Isa isa) { return plan_cost_ns(setup, isa, 1); });
  row("cost a plan, 11 at a time", "ns", setup,
      [&](nn::Isa isa) { return plan_cost_ns(setup, isa, 11); });
  search_rows(setup);
}

}  // namespace
}  // namespace neuroshard

int main(int argc, char** argv) try {
  namespace po = boost::program_options;
  po::options_description description("search_bench");
  auto add = description.add_options();
  add("cost-model", po::value<std::string>()->required(), "shipped name or file");
  add("tables", po::value<std::string>()->required(), "pool that the tasks' ids point into");
  add("tasks", po::value<std::string>()->required(), "one task a line");
  add("devices", po::value<int>()->required(), "devices of every plan");
  add("device-memory", po::value<std::string>()->default_value("4GiB"), "of each device");
  add("repeat", po::value<int>()->default_value(5), "rounds");
  po::variables_map flags;
  po::store(po::parse_command_line(argc, argv, description), flags);
  po::notify(flags);
  const auto setup = neuroshard::load(flags);
  if (!setup.ok()) {
    std::fprintf(stderr, "%s\n", setup.status().message().c_str());
    return 2;
  }
  neuroshard::run(*setup);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
