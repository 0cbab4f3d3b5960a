#include "engine/ground_truth/measured_plans.h"

#include <algorithm>
#include <string>

#include "engine/ground_truth/measure.h"
#include "engine/ground_truth/sim/profile_library.h"
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
  const std::int64_t epochs =
      std::clamp(kFitSteps * fit.batch_size / samples, kLeastEpochs, kMostEpochs);
  fit.epochs = static_cast<std::int32_t>(epochs);
}

}  // namespace

std::int32_t MeasuredPlans::entry_of(const MeasuredColumns& columns) {
  const auto [found, fresh] = entries_.try_emplace({columns.table, columns.dim},
                                                   static_cast<std::int32_t>(entries_.size()));
  if (fresh) {
    compute_.pool.push_back(pool_.tables[static_cast<std::size_t>(columns.table)]);
    compute_.pool.back().dim = columns.dim;
  }
  return found->second;
}

Result<double> MeasuredPlans::measure(GroundTruth& truth,
                                      const std::vector<std::vector<MeasuredColumns>>& devices) {
  std::vector<io::ComputeSample> samples;
  std::vector<std::int64_t> dims;
  std::vector<double> compute_ms;
  for (const std::vector<MeasuredColumns>& held : devices) {
    Workload workload{{}, pool_.batch_size};
    std::vector<Shard> shards;
    io::ComputeSample sample;
    dims.push_back(0);
    for (const MeasuredColumns& columns : held) {
      sample.tables.push_back(entry_of(columns));
      const auto index = static_cast<std::int32_t>(workload.tables.size());
      workload.tables.push_back(compute_.pool[static_cast<std::size_t>(sample.tables.back())]);
      shards.push_back(whole_table(workload, index, 0));
      dims.back() += columns.dim;
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const ComputeTime time, truth.measure_compute(workload, shards));
    sample.cost_ms = time.total_ms;
    compute_ms.push_back(time.total_ms);
    if (!sample.tables.empty()) samples.push_back(std::move(sample));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(io::CommSample exchange,
                              measure_exchange(truth, dims, compute_ms, pool_.batch_size));
  double cost = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    cost = std::max(cost, compute_ms[d] + exchange.forward_ms[d] + exchange.backward_ms[d]);
  }
  compute_.samples.insert(compute_.samples.end(), samples.begin(), samples.end());
  CommDataset& exchanges = exchanges_[static_cast<std::int32_t>(devices.size())];
  exchanges.batch_size = pool_.batch_size;
  exchanges.samples.push_back(std::move(exchange));
  ++plans_;
  return cost;
}

Result<CostModels> MeasuredPlans::fit(const GroundTruth& truth, std::uint64_t seed,
                                      int threads) const {
  const TrainControl control{.threads = threads};
  ComputeTrainOptions compute = default_compute_options();
  set_few_samples(std::ssize(compute_.samples), seed, compute.fit);
  NEUROSHARD_ASSIGN_OR_RETURN(ComputeTraining lookups,
                              train_compute({&compute_, 1}, compute, control));
  CommTrainOptions comm = default_comm_options();
  set_few_samples(std::ssize(compute_.samples), seed, comm.fit);
  std::vector<CommDataset> data;
  for (const auto& [devices, exchanges] : exchanges_) data.push_back(exchanges);
  NEUROSHARD_ASSIGN_OR_RETURN(CommTraining exchanges, train_comm(data, comm, control));
  CostModels models;
  models.batch_size = pool_.batch_size;
  models.compute_origin = {truth.hardware(), truth.provenance(),
                           published_error_of(truth.profile(), truth.settings())};
  models.comm_origin = models.compute_origin;
  models.compute = std::move(lookups.model);
  models.comm = std::move(exchanges.models);
  return models;
}

}  // namespace neuroshard
