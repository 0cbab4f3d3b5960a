#include "engine/ground_truth/measured_plans.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "engine/ground_truth/measure.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/training/dataset.h"
#include "engine/training/train.h"

namespace neuroshard {
namespace {

/// Epochs, and fewer of them where there are so many samples that this many steps are enough.
constexpr std::int64_t kMostEpochs = 300;
constexpr std::int64_t kLeastEpochs = 30;
constexpr std::int64_t kFitSteps = 4000;

/// Of a hundred plans there are some hundred samples: small steps, and averages over fewer of them
/// than with tens of thousands.
void set_few_samples(std::int64_t samples, std::uint64_t seed, FitOptions& fit) {
  fit.members = 1;
  fit.batch_size = 16;
  fit.average = 0.99;
  fit.learning_rate = 3e-3;
  fit.seed = seed;
  const std::int64_t epochs = std::clamp(
      kFitSteps * fit.batch_size / std::max<std::int64_t>(1, samples), kLeastEpochs, kMostEpochs);
  fit.epochs = static_cast<std::int32_t>(epochs);
}

Table table_of(const Workload& pool, const MeasuredColumns& columns) {
  Table table = pool.tables[static_cast<std::size_t>(columns.table)];
  table.dim = columns.dim;
  return table;
}

/// What networks are fitted to, as it is collected: columns that are alike are one entry.
struct PlanSamples {
  explicit PlanSamples(std::int64_t batch_size) : compute{{}, {}, batch_size} {}

  void add(const Workload& pool, const MeasuredPlan& plan);
  std::int32_t entry_of(const Workload& pool, const MeasuredColumns& columns);

  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> entries;  // by table and dim
  ComputeDataset compute;
  std::map<std::int32_t, CommDataset> exchanges;  // by the number of devices
};

std::int32_t PlanSamples::entry_of(const Workload& pool, const MeasuredColumns& columns) {
  const auto [found, fresh] =
      entries.try_emplace({columns.table, columns.dim}, static_cast<std::int32_t>(entries.size()));
  if (fresh) compute.pool.push_back(table_of(pool, columns));
  return found->second;
}

void PlanSamples::add(const Workload& pool, const MeasuredPlan& plan) {
  io::CommSample exchange;
  std::vector<double> compute_ms;
  for (const MeasuredDevice& device : plan.devices) {
    io::ComputeSample lookups{{}, device.compute_ms};
    exchange.dims.push_back(0);
    for (const MeasuredColumns& columns : device.columns) {
      lookups.tables.push_back(entry_of(pool, columns));
      exchange.dims.back() += columns.dim;
    }
    if (!lookups.tables.empty()) compute.samples.push_back(std::move(lookups));
    compute_ms.push_back(device.compute_ms);
    exchange.forward_ms.push_back(device.forward_ms);
    exchange.backward_ms.push_back(device.backward_ms);
  }
  exchange.starts_ms = forward_starts(compute_ms, exchange.backward_ms);
  CommDataset& alike = exchanges[static_cast<std::int32_t>(plan.devices.size())];
  alike.batch_size = pool.batch_size;
  alike.samples.push_back(std::move(exchange));
}

}  // namespace

double measured_ms(const MeasuredPlan& plan) {
  double cost = 0;
  for (const MeasuredDevice& device : plan.devices) {
    cost = std::max(cost, device.compute_ms + device.forward_ms + device.backward_ms);
  }
  return cost;
}

Result<MeasuredPlan> measure_columns(GroundTruth& truth, const Workload& pool,
                                     const DeviceColumns& plan) {
  MeasuredPlan measured;
  std::vector<std::int64_t> dims;
  std::vector<double> compute_ms;
  for (const std::vector<MeasuredColumns>& held : plan) {
    Workload workload{{}, pool.batch_size};
    std::vector<Shard> shards;
    dims.push_back(0);
    for (const MeasuredColumns& columns : held) {
      const auto index = static_cast<std::int32_t>(workload.tables.size());
      workload.tables.push_back(table_of(pool, columns));
      shards.push_back(whole_table(workload, index, 0));
      dims.back() += columns.dim;
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const ComputeTime time, truth.measure_compute(workload, shards));
    measured.devices.push_back({held, time.total_ms});
    compute_ms.push_back(time.total_ms);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(
      const io::CommSample exchange,
      measure_exchange(truth, std::move(dims), compute_ms, pool.batch_size));
  for (std::size_t d = 0; d < measured.devices.size(); ++d) {
    measured.devices[d].forward_ms = exchange.forward_ms[d];
    measured.devices[d].backward_ms = exchange.backward_ms[d];
  }
  return measured;
}

Status check_measured_plan(const MeasuredPlan& plan, const Workload& pool,
                           const PolicyTasks& tasks) {
  const std::int64_t devices = std::ssize(plan.devices);
  if (std::find(tasks.devices.begin(), tasks.devices.end(), devices) == tasks.devices.end()) {
    return invalid_input("found " + std::to_string(devices) +
                         " devices, expected one of the numbers that the training is for");
  }
  for (const MeasuredDevice& device : plan.devices) {
    for (const MeasuredColumns& columns : device.columns) {
      if (columns.table < 0 || columns.table >= std::ssize(pool.tables)) {
        return invalid_input("found table " + std::to_string(columns.table) + ", expected one of " +
                             std::to_string(pool.tables.size()));
      }
      const std::int32_t dim = pool.tables[static_cast<std::size_t>(columns.table)].dim;
      if (columns.dim >= 1 && columns.dim <= dim) continue;
      return invalid_input("found " + std::to_string(columns.dim) + " columns of " +
                           table_label(pool, columns.table) + ", expected from 1 to " +
                           std::to_string(dim));
    }
    if (device.columns.empty() || device.compute_ms > 0) continue;
    return invalid_input("found lookups of 0 ms, expected more");
  }
  const auto holds_some = [](const MeasuredDevice& device) { return !device.columns.empty(); };
  if (std::any_of(plan.devices.begin(), plan.devices.end(), holds_some)) return {};
  return invalid_input("found no tables, expected some");
}

Result<CostModels> fit_costs(const GroundTruth& truth, const Workload& pool,
                             std::span<const MeasuredPlan> plans, std::uint64_t seed,
                             const TrainControl& control) {
  PlanSamples samples(pool.batch_size);
  for (const MeasuredPlan& plan : plans) samples.add(pool, plan);
  const std::int64_t count = std::ssize(samples.compute.samples);
  ComputeTrainOptions compute = default_compute_options();
  set_few_samples(count, seed, compute.fit);
  NEUROSHARD_ASSIGN_OR_RETURN(ComputeTraining lookups,
                              train_compute({&samples.compute, 1}, compute, control));
  CommTrainOptions comm = default_comm_options();
  set_few_samples(count, seed, comm.fit);
  std::vector<CommDataset> data;
  for (auto& [devices, exchanges] : samples.exchanges) data.push_back(std::move(exchanges));
  NEUROSHARD_ASSIGN_OR_RETURN(CommTraining exchanges, train_comm(data, comm, control));
  CostModels models;
  models.batch_size = pool.batch_size;
  models.compute_origin = {truth.hardware(), truth.provenance(),
                           published_error_of(truth.profile(), truth.settings())};
  models.comm_origin = models.compute_origin;
  models.compute = std::move(lookups.model);
  models.comm = std::move(exchanges.models);
  return models;
}

}  // namespace neuroshard
