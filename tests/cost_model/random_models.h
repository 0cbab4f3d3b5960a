#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/core/rng.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard::test {

inline nn::Mlp random_mlp(const std::vector<int>& sizes, nn::Activation last, Rng& rng) {
  nn::Mlp mlp(nn::dense_stack(sizes, last));
  nn::initialize(mlp, rng);
  return mlp;
}

inline Scaling random_scaling(int features, Rng& rng, double mean, double std) {
  Scaling scaling;
  for (int k = 0; k < features; ++k) {
    scaling.mean.push_back(static_cast<float>(mean * rng.uniform()));
    scaling.std.push_back(static_cast<float>(std * (0.5 + rng.uniform())));
  }
  return scaling;
}

/// The paper's features and kinds of network with random weights; hidden widths of no nice size.
inline CostModels random_models(std::int32_t devices, Rng& rng) {
  const auto width = [&] { return static_cast<int>(rng.between(1, 100)); };
  CostModels models;
  models.compute_origin = {"made up", Provenance::kSimulated};
  models.comm_origin = models.compute_origin;
  ComputeModel compute;
  compute.features = FeatureSet::parse(paper_features()).value();
  const int features = compute.features.size();
  compute.scaling = random_scaling(features, rng, 1, 1);
  compute.scaling.std[0] = 64;
  compute.scaling.std[1] = 1e6f;
  compute.scaling.std[2] = 20;
  const int encoding = width();
  compute.table = random_mlp({features, width(), encoding}, nn::Activation::kRelu, rng);
  compute.head = random_mlp({encoding, width(), 1}, nn::Activation::kNone, rng);
  models.compute = std::move(compute);
  CommModels comm;
  comm.devices = devices;
  comm.forward.scaling = random_scaling(2 * devices, rng, 100, 50);
  comm.forward.mlp =
      random_mlp({2 * devices, width(), width(), devices}, nn::Activation::kNone, rng);
  comm.backward.scaling = random_scaling(devices, rng, 100, 50);
  comm.backward.mlp = random_mlp({devices, width(), width(), devices}, nn::Activation::kNone, rng);
  models.comm = std::move(comm);
  return models;
}

/// Inputs of the networks below; not the default ones, which are free to change.
inline constexpr const char* kPooledFeatures =
    "log_devices,dim,dim_mean,dim_max,dim_std,dim_share,start,start_mean,start_max,start_wait";

/// The same with communication networks for any number of devices.
inline CostModels random_pooled_models(Rng& rng) {
  CostModels models = random_models(1, rng);
  CommModels& comm = *models.comm;
  comm.architecture = CommArchitecture::kPooledDevices;
  comm.devices = 0;
  comm.features = CommFeatureSet::parse(kPooledFeatures).value();
  const int forward = comm.features.forward_size();
  const int backward = comm.features.backward_size();
  comm.forward.scaling = random_scaling(forward, rng, 100, 50);
  comm.forward.mlp = random_mlp({forward, 33, 12, 1}, nn::Activation::kNone, rng);
  comm.backward.scaling = random_scaling(backward, rng, 100, 50);
  comm.backward.mlp = random_mlp({backward, 33, 12, 1}, nn::Activation::kNone, rng);
  return models;
}

inline Workload random_workload(std::int64_t tables, Rng& rng) {
  Workload workload;
  for (std::int64_t k = 0; k < tables; ++k) {
    Table table;
    table.rows = rng.between(100, 2'000'000);
    table.dim = static_cast<std::int32_t>(4 << rng.below(6));
    table.pooling_factor = 40 * rng.uniform();
    double rest = 1;
    for (double& share : table.reuse_histogram) {
      share = rest * rng.uniform();
      rest -= share;
    }
    table.reuse_histogram.back() += rest;
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

/// Whole tables and random column and row splits, on random devices.
inline Plan random_plan(const Workload& workload, std::int32_t devices, Rng& rng) {
  Plan plan{devices, {}};
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    plan.shards.push_back(whole_table(workload, static_cast<std::int32_t>(table), 0));
  }
  for (int split = 0; split < 8; ++split) {
    Shard& shard = plan.shards[rng.below(plan.shards.size())];
    Shard rest = shard;
    if (rng.below(2) == 0 && shard.dim() > 1) {
      shard.column_end = rest.column_begin = shard.column_begin + shard.dim() / 2;
    } else if (shard.rows() > 1) {
      shard.row_end = rest.row_begin = shard.row_begin + shard.rows() / 3 + 1;
    } else {
      continue;
    }
    if (rest.rows() > 0) plan.shards.push_back(rest);
  }
  for (Shard& shard : plan.shards) {
    shard.device = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(devices)));
  }
  return plan;
}

}  // namespace neuroshard::test
