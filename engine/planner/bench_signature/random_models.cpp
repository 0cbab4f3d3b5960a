#include "engine/planner/bench_signature/random_models.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace neuroshard::signature {
namespace {

constexpr std::int32_t kLeastRowParts = 8;
constexpr float kUsualDims = 256;  // of a device, about

/// Of the pooled networks: none is a logarithm, which not every C library rounds alike.
constexpr const char* kDimInputs = "dim,dim_mean,dim_max,dim_std,dim_other";
constexpr int kDims = 5;
constexpr const char* kOtherInputs = ",dim_share,start,start_mean,start_max,start_wait";

/// The last layer of networks that are `adding` only adds, so that more shards cost more.
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

/// A network of one direction: inputs, of which the first so many are sums of dims, to outputs.
CommModel random_direction(int inputs, int dims, int outputs, Rng& rng) {
  CommModel model;
  model.scaling = unit_scaling(inputs);
  std::fill_n(model.scaling.std.begin(), dims, kUsualDims);
  model.mlp = random_network({inputs, 128, 64, 32, 16, outputs}, nn::Activation::kNone, true, rng);
  return model;
}

/// So fast that row shards over several hosts may pay, and what these cost counts.
InterconnectProfile links_between_hosts() {
  InterconnectProfile links;
  links.name = "cluster";
  links.devices_per_host.value = kUsualHost;
  links.intra_host_gbps.value = 4000;
  links.intra_host_latency_us.value = 2;
  links.inter_host_gbps.value = 400;
  links.inter_host_latency_us.value = 6;
  return links;
}

Result<CostModels> random_compute(std::int32_t devices, Rng& rng) {
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
  compute.row_parts = std::max(devices, kLeastRowParts);
  models.compute = std::move(compute);
  return models;
}

}  // namespace

Result<CostModels> random_models(std::int32_t devices, Rng& rng) {
  NEUROSHARD_ASSIGN_OR_RETURN(CostModels models, random_compute(devices, rng));
  CommModels comm;
  comm.devices = devices;
  comm.forward = random_direction(2 * devices, devices, devices, rng);
  comm.backward = random_direction(devices, devices, devices, rng);
  models.comm = std::move(comm);
  return models;
}

Result<CostModels> random_pooled_models(std::int32_t devices, Rng& rng) {
  NEUROSHARD_ASSIGN_OR_RETURN(CostModels models, random_compute(devices, rng));
  CommModels comm;
  comm.architecture = CommArchitecture::kPooledDevices;
  NEUROSHARD_ASSIGN_OR_RETURN(comm.features,
                              CommFeatureSet::parse(std::string(kDimInputs) + kOtherInputs));
  comm.forward = random_direction(comm.features.forward_size(), kDims, 1, rng);
  comm.backward = random_direction(comm.features.backward_size(), kDims, 1, rng);
  models.comm = std::move(comm);
  models.links = links_between_hosts();
  return models;
}

}  // namespace neuroshard::signature
