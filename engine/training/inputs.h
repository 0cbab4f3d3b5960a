#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/training/dataset.h"
#include "nn/set_network.h"
#include "nn/trainer.h"

namespace neuroshard {

/// Unscaled features of every pool entry, [pool, features.size()].
std::vector<float> pool_inputs(const FeatureSet& features, const ComputeDataset& dataset);

/// Adds the dataset's samples to `samples`: members are pool entries counted from `first_row`, the
/// targets are left to the caller. Errors: an id outside the pool.
Status add_compute_sets(const ComputeDataset& dataset, std::int32_t first_row,
                        nn::SetSamples& samples);

/// The data sets as one: unscaled features of all pools, and samples counted through, without
/// targets.
struct ComputePool {
  std::vector<float> features;
  nn::SetSamples samples;
  std::vector<double> costs;        ///< measured ms, of each sample
  std::vector<std::int64_t> sizes;  ///< samples of each data set
};
/// Errors: an id outside a pool.
Result<ComputePool> pool_datasets(std::span<const ComputeDataset> data, const FeatureSet& features);

/// What a communication network is fed: fixed-devices one row an exchange (dims, then starts),
/// pooled-devices one row a device.
struct CommInputs {
  int width = 0;
  std::int64_t rows_per_exchange = 0;
  std::vector<float> values;  ///< unscaled, [ids x rows_per_exchange, width]
};
CommInputs comm_inputs(CommArchitecture architecture, const CommFeatureSet& features,
                       CommDirection direction, const CommDataset& dataset,
                       std::span<const std::int32_t> ids);

/// Measured ms of samples `ids`, [ids, devices].
std::vector<double> comm_costs(CommDirection direction, const CommDataset& dataset,
                               std::span<const std::int32_t> ids);

/// Samples of all data sets are counted through, data set after data set. These are the ones of
/// `ids` that belong to each, as indices into it, in the order of `ids`.
IdParts ids_by_dataset(std::span<const std::int64_t> sizes, std::span<const std::int32_t> ids);

/// 0, 1, ..., count - 1.
std::vector<std::int32_t> all_ids(std::size_t count);

/// Outputs of a network with these parameters for sets of rows of `features` (standardised).
Result<std::vector<float>> run_network(const nn::SetNetworkSpec& spec,
                                       std::span<const float> parameters,
                                       std::span<const float> features,
                                       const nn::SetSamples& samples,
                                       std::span<const std::int32_t> ids);

}  // namespace neuroshard
