#include "engine/planner/bench_signature.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "engine/core/elapsed.h"
#include "engine/core/rng.h"
#include "engine/cost_model/mlp_evaluator.h"
#include "nn/isa.h"
#include "search/algorithms.h"

namespace neuroshard {
namespace {

constexpr std::uint64_t kSeed = 2305'01868;
constexpr std::int64_t kBatchSize = 65536;

/// Networks of the paper's sizes with random weights. The last layer of the head only adds, so that
/// more shards cost more, as real networks have learnt.
nn::Mlp random_network(std::vector<int> sizes, nn::Activation last, bool adding, Rng& rng) {
  nn::Mlp mlp(nn::dense_stack(sizes, last));
  nn::initialize(mlp, rng);
  if (adding) {
    for (float& weight : mlp.weight(mlp.depth() - 1)) weight = std::fabs(weight);
  }
  return mlp;
}

Scaling unit_scaling(int features) {
  const auto size = static_cast<std::size_t>(features);
  return {std::vector<float>(size, 0.0f), std::vector<float>(size, 1.0f)};
}

Result<CostModels> random_models(std::int32_t devices, Rng& rng) {
  CostModels models;
  models.batch_size = kBatchSize;
  ComputeModel compute;
  NEUROSHARD_ASSIGN_OR_RETURN(compute.features, FeatureSet::parse(paper_features()));
  const int features = compute.features.size();
  compute.scaling = unit_scaling(features);
  compute.scaling.std[0] = 64;   // dim
  compute.scaling.std[1] = 2e6;  // rows
  compute.scaling.std[2] = 20;   // pooling factor
  compute.table = random_network({features, 128, 32}, nn::Activation::kRelu, false, rng);
  compute.head = random_network({32, 64, 1}, nn::Activation::kNone, true, rng);
  models.compute = std::move(compute);
  CommModels comm;
  comm.devices = devices;
  const auto direction = [&](int inputs) {
    CommModel model;
    model.scaling = unit_scaling(inputs);
    for (std::int32_t d = 0; d < devices; ++d) model.scaling.std[static_cast<std::size_t>(d)] = 256;
    model.mlp =
        random_network({inputs, 128, 64, 32, 16, devices}, nn::Activation::kNone, true, rng);
    return model;
  };
  comm.forward = direction(2 * devices);
  comm.backward = direction(devices);
  models.comm = std::move(comm);
  return models;
}

Workload random_workload(std::int64_t tables, Rng& rng) {
  Workload workload;
  workload.batch_size = kBatchSize;
  for (std::int64_t k = 0; k < tables; ++k) {
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
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

/// Enough memory for a share over an even one that goes from none at all to plenty.
Cluster random_cluster(const Workload& workload, std::int32_t devices, Rng& rng) {
  Cluster cluster;
  cluster.devices = devices;
  cluster.memory_bytes = workload_bytes(workload) / devices * rng.between(100, 200) / 100 + 1;
  return cluster;
}

/// FNV-1a over 64-bit words.
class Hash {
 public:
  void add(std::int64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      value_ =
          (value_ ^ (static_cast<std::uint64_t>(word) >> (8 * byte) & 0xff)) * 0x100000001b3ULL;
    }
  }
  void add(const Plan& plan) {
    for (const Shard& shard : plan.shards) {
      for (const std::int64_t word : {std::int64_t{shard.table}, shard.row_begin, shard.row_end,
                                      std::int64_t{shard.column_begin},
                                      std::int64_t{shard.column_end}, std::int64_t{shard.device}}) {
        add(word);
      }
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::string BenchSignature::text() const {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%lld-%016llx", static_cast<long long>(evaluations),
                static_cast<unsigned long long>(hash));
  return buffer.data();
}

Result<BenchSignature> bench_signature() {
  constexpr std::array<std::int32_t, 4> kDevices{1, 2, 4, 8};
  constexpr std::size_t kTasks = 40;
  constexpr std::int64_t kEvaluations = 2000;  // where an algorithm has no end of its own
  constexpr std::array kRowSplits{RowSplits::kOff, RowSplits::kEven, RowSplits::kAny};
  search::SearchOptions options;
  options.evaluations = kEvaluations;
  options.row_parts = 8;
  BenchSignature signature;
  Hash hash;
  for (std::size_t index = 0; index < kTasks; ++index) {
    Rng rng = Rng(kSeed).fork(index);
    const std::int32_t devices = kDevices[index % kDevices.size()];
    NEUROSHARD_ASSIGN_OR_RETURN(const CostModels models, random_models(devices, rng));
    const Workload workload = random_workload(rng.between(2, 10 + 10 * devices), rng);
    const Cluster cluster = random_cluster(workload, devices, rng);
    options.row_splits = kRowSplits[index % kRowSplits.size()];
    for (const search::Algorithm& algorithm : search::algorithms()) {
      NEUROSHARD_ASSIGN_OR_RETURN(
          const std::unique_ptr<MlpEvaluator> evaluator,
          MlpEvaluator::create(models, workload, devices, nn::Isa::kScalar));
      const auto start = std::chrono::steady_clock::now();
      Result<search::SearchResult> found = algorithm.run({workload, cluster}, *evaluator, options);
      signature.seconds += seconds_since(start);
      const StatusCode code = found.status().code();
      const bool outcome = code == StatusCode::kInfeasible || code == StatusCode::kInvalidInput;
      if (!found.ok() && !outcome) return found.status();
      hash.add(found.ok() ? 1 : 0);
      if (!found.ok()) continue;
      canonicalize(found->plan);
      hash.add(found->plan);
      signature.evaluations += found->evaluations;
    }
  }
  signature.hash = hash.value();
  return signature;
}

}  // namespace neuroshard
