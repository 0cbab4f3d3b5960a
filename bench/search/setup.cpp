#include "bench/search/setup.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "io/tables/tables.h"
#include "io/tables/tasks.h"

namespace neuroshard::bench {
namespace {

/// 2 to 14 tables a device, as the paper draws them, of sizes between a thousand and ten million.
Workload draw_workload(std::int64_t tables, std::int64_t batch_size, Rng& rng) {
  Workload workload;
  workload.batch_size = batch_size;
  for (std::int64_t k = 0; k < tables; ++k) {
    Table table;
    table.rows = rng.between(1000, 10'000'000) / (std::int64_t{1} << rng.below(8));
    table.dim = static_cast<std::int32_t>(4 << rng.below(6));
    table.pooling_factor = 1 + 39 * rng.uniform();
    table.reuse_histogram.front() = 1;
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

}  // namespace

Result<SearchSetup> load_setup(const SearchFiles& files) {
  SearchSetup setup;
  NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels named, load_cost_models(files.cost_model));
  setup.models = std::move(named.models);
  setup.cluster.devices = files.devices;
  setup.cluster.memory_bytes = files.device_memory;
  NEUROSHARD_RETURN_IF_ERROR(validate(setup.cluster));
  if (files.tables.empty() != files.tasks.empty()) {
    return invalid_input("--tables and --tasks go together");
  }
  if (files.tables.empty()) {
    Rng rng(1);
    for (const int per_device : {2, 5, 9, 14}) {
      setup.workloads.push_back(
          draw_workload(std::int64_t{per_device} * files.devices, setup.models.batch_size, rng));
    }
    return setup;
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const io::TableFile pool, io::read_tables(files.tables));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<io::Task> tasks, io::read_tasks(files.tasks));
  for (const io::Task& task : tasks) {
    NEUROSHARD_ASSIGN_OR_RETURN(Workload workload, io::make_workload(pool, task));
    setup.workloads.push_back(std::move(workload));
  }
  std::stable_sort(
      setup.workloads.begin(), setup.workloads.end(),
      [](const Workload& a, const Workload& b) { return a.tables.size() < b.tables.size(); });
  return setup;
}

std::vector<nn::Isa> usable_isas() {
  std::vector<nn::Isa> isas;
  for (const nn::IsaInfo& info : nn::isa_list()) {
    if (info.supported()) isas.insert(isas.begin(), info.isa);
  }
  return isas;
}

std::shared_ptr<MlpEvaluator> evaluator_of(const SearchSetup& setup, const Workload& workload,
                                           std::int32_t devices, nn::Isa isa) {
  auto evaluator = MlpEvaluator::create(setup.models, workload, devices, isa);
  if (!evaluator.ok()) {
    std::fprintf(stderr, "%s\n", evaluator.status().message().c_str());
    std::exit(2);
  }
  return std::move(evaluator).value();
}

}  // namespace neuroshard::bench
