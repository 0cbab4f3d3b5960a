#include "bench/search/searches.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "search/algorithms.h"

namespace neuroshard::bench {
namespace {

/// Mean milliseconds of the searches of workloads [begin, end); adds each plan's cost to `costs`.
double search_ms(const SearchSetup& setup, nn::Isa isa, std::size_t begin, std::size_t end,
                 std::vector<double>& costs) {
  double seconds = 0;
  for (std::size_t k = begin; k < end; ++k) {
    const auto evaluator = evaluator_of(setup, setup.workloads[k], setup.cluster.devices, isa);
    const double start = thread_seconds();
    const auto found = search::find_algorithm("neuroshard")
                           ->run({setup.workloads[k], setup.cluster}, *evaluator, {});
    seconds += thread_seconds() - start;
    costs.push_back(found.ok() ? evaluator->evaluate(found->plan).cost_ms : -1);
  }
  return seconds * 1e3 / static_cast<double>(end - begin);
}

}  // namespace

void run_searches(const SearchSetup& setup, Report& report) {
  const std::vector<nn::Isa> isas = usable_isas();
  const std::size_t count = setup.workloads.size();
  const std::size_t parts = std::min<std::size_t>(4, count);
  double worst = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = count * part / parts;
    const std::size_t end = count * (part + 1) / parts;
    std::vector<std::vector<double>> times(isas.size());
    std::vector<double> reference;
    for (int round = 0; round < setup.repeat; ++round) {
      for (std::size_t k = 0; k < isas.size(); ++k) {
        std::vector<double> costs;
        times[k].push_back(search_ms(setup, isas[k], begin, end, costs));
        if (reference.empty()) reference = costs;  // the scalar one runs first
        for (std::size_t task = 0; task < costs.size(); ++task) {
          worst = std::max(worst, std::abs(costs[task] / reference[task] - 1));
        }
      }
    }
    for (std::size_t k = 0; k < isas.size(); ++k) {
      Row row;
      row.name = "search: " + std::to_string(setup.workloads[begin].tables.size()) + ".." +
                 std::to_string(setup.workloads[end - 1].tables.size()) + " tables";
      row.isa = to_string(isas[k]);
      row.unit = "ms";
      row.figure = figure_of(times[k]);
      row.per_second = 1e3 / row.figure.median;
      report.add(row);
    }
  }
  std::printf("largest difference of plan costs between instruction sets: %.1e\n", worst);
}

}  // namespace neuroshard::bench
