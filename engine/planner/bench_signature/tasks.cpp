#include "engine/planner/bench_signature/tasks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/shard_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/bench_signature/random_models.h"

namespace neuroshard::signature {
namespace {

constexpr std::uint64_t kSeed = 2305'01868;

Result<CostModels> models_of(Costs costs, std::int32_t devices, Rng& rng) {
  if (costs == Costs::kFixedNetworks) return random_models(devices, rng);
  if (costs == Costs::kPooledNetworks) return random_pooled_models(devices, rng);
  NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels named,
                              load_shipped_models(std::string(kTorchRecCostModel)));
  return std::move(named.models);
}

Table random_table(Rng& rng) {
  Table table;
  table.rows = std::int64_t{1} << rng.between(6, 23);
  table.rows += rng.between(0, table.rows - 1);
  table.dim = static_cast<std::int32_t>(4 << rng.below(6));
  table.pooling_factor = static_cast<double>(rng.between(4, 400)) / 4;
  // Shares fall off by a quarter to three quarters from bin to bin.
  const double keep = static_cast<double>(rng.between(1, 3)) / 4;
  double rest = 1;
  for (double& share : table.reuse_histogram) {
    share = rest * (1 - keep);
    rest -= share;
  }
  table.reuse_histogram.back() += rest;
  return table;
}

/// What the formula knows of tables and networks do not.
void add_details(Table& table, Rng& rng) {
  if (rng.below(2) == 0) table.optimizer = Optimizer::kRowwiseAdagrad;
  if (rng.below(4) == 0) table.features = static_cast<std::int32_t>(rng.between(2, 3));
  table.weighted = rng.below(8) == 0;
}

Workload random_workload(std::int64_t tables, bool details, Rng& rng) {
  Workload workload;
  workload.batch_size = kBatchSize;
  for (std::int64_t k = 0; k < tables; ++k) {
    Table table = random_table(rng);
    if (details) add_details(table, rng);
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

/// Of a task: no two settings draw the same, nor does one change what the others draw.
Rng numbers_of(const Setting& setting, std::size_t index) {
  std::uint64_t seed = kSeed;
  for (const char letter : setting.name) seed = 31 * seed + static_cast<unsigned char>(letter);
  return Rng(seed).fork(index);
}

std::int64_t draw(const Percent& percent, std::int64_t of, Rng& rng) {
  return of / 100 * rng.between(percent.least, percent.most);
}

}  // namespace

Result<Task> make_task(const Setting& setting, std::size_t index) {
  Rng rng = numbers_of(setting, index);
  Task task;
  const std::int32_t devices = setting.devices[index % setting.devices.size()];
  NEUROSHARD_ASSIGN_OR_RETURN(task.models, models_of(setting.costs, devices, rng));
  const std::int64_t tables = rng.between(2, 10 + setting.tables_per_device * devices);
  task.workload = random_workload(tables, setting.costs == Costs::kFormula, rng);
  for (Table& table : task.workload.tables) {
    if (setting.sequences && rng.below(3) > 0) table.pooled = false;
  }
  const std::int64_t bytes = workload_bytes(task.workload);
  task.cluster = {.devices = devices,
                  .memory_bytes = draw(setting.memory, bytes / devices, rng) + 1};
  const std::int32_t hosts = std::max(1, devices / kUsualHost);
  task.options.row_splits =
      setting.row_splits[index / setting.devices.size() % setting.row_splits.size()];
  // No refusal looks for what would do, which takes time and no plan depends on.
  task.options.trainer.row_splits = task.options.row_splits;
  task.options.evaluations = setting.evaluations;
  task.options.data_parallel = setting.data_parallel;
  task.options.trainer.equal_columns = setting.equal_columns;
  task.cluster.host_memory_bytes = draw(setting.host_memory, bytes, rng) / hosts;
  task.limit.bytes = draw(setting.moved, bytes, rng);
  task.limit.whole_tables = rng.below(3) == 0;
  return task;
}

Workload with_other_lookups(Workload workload, Rng& rng) {
  for (Table& table : workload.tables) {
    if (rng.below(2) == 0) table.pooling_factor *= static_cast<double>(rng.between(1, 12)) / 4;
  }
  return workload;
}

}  // namespace neuroshard::signature
