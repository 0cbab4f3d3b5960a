#include "engine/training/inputs.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "engine/cost_model/comm_features.h"
#include "nn/backend.h"

namespace neuroshard {
namespace {

std::vector<float> to_floats(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

std::vector<float> to_floats(std::span<const double> values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<float> pool_inputs(const FeatureSet& features, const ComputeDataset& dataset) {
  const auto width = static_cast<std::size_t>(features.size());
  std::vector<float> values(dataset.pool.size() * width);
  for (std::size_t i = 0; i < dataset.pool.size(); ++i) {
    const Table& table = dataset.pool[i];
    const ShardShape whole{static_cast<std::int32_t>(i), table.rows, table.dim};
    features.compute({table, whole, dataset.batch_size},
                     std::span(values).subspan(i * width, width));
  }
  return values;
}

Status add_compute_sets(const ComputeDataset& dataset, std::int32_t first_row,
                        nn::SetSamples& samples) {
  const auto pool = static_cast<std::int64_t>(dataset.pool.size());
  NEUROSHARD_RETURN_IF_ERROR(io::check_ids(dataset.samples, pool, "cost data"));
  std::vector<std::int32_t> members;
  for (const io::ComputeSample& sample : dataset.samples) {
    members.clear();
    for (const std::int32_t id : sample.tables) members.push_back(first_row + id);
    samples.add(members, {});
  }
  return {};
}

Result<ComputePool> pool_datasets(std::span<const ComputeDataset> data,
                                  const FeatureSet& features) {
  ComputePool all;
  const auto width = static_cast<std::size_t>(features.size());
  for (const ComputeDataset& dataset : data) {
    const auto first_row = static_cast<std::int32_t>(all.features.size() / width);
    const std::vector<float> values = pool_inputs(features, dataset);
    all.features.insert(all.features.end(), values.begin(), values.end());
    NEUROSHARD_RETURN_IF_ERROR(add_compute_sets(dataset, first_row, all.samples));
    for (const io::ComputeSample& sample : dataset.samples) all.costs.push_back(sample.cost_ms);
    all.sizes.push_back(static_cast<std::int64_t>(dataset.samples.size()));
  }
  return all;
}

CommInputs comm_inputs(CommArchitecture architecture, const CommFeatureSet& features,
                       CommDirection direction, const CommDataset& dataset,
                       std::span<const std::int32_t> ids) {
  const std::int32_t devices = dataset.devices();
  const bool forward = direction == CommDirection::kForward;
  const bool fixed = architecture == CommArchitecture::kFixedDevices;
  CommInputs inputs;
  inputs.rows_per_exchange = fixed ? 1 : devices;
  inputs.width = fixed     ? devices * (forward ? 2 : 1)
                 : forward ? features.forward_size()
                           : features.backward_size();
  const auto size = static_cast<std::size_t>(inputs.rows_per_exchange * inputs.width);
  inputs.values.resize(ids.size() * size);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const io::CommSample& sample = dataset.samples[static_cast<std::size_t>(ids[i])];
    const std::span<float> out = std::span(inputs.values).subspan(i * size, size);
    std::vector<float> dims = to_floats(sample.dims);
    const std::vector<float> starts = forward ? to_floats(sample.starts_ms) : std::vector<float>();
    if (fixed) {
      dims.insert(dims.end(), starts.begin(), starts.end());
      std::copy(dims.begin(), dims.end(), out.begin());
    } else {
      features.compute({dims, starts, dataset.batch_size}, out);
    }
  }
  return inputs;
}

std::vector<double> comm_costs(CommDirection direction, const CommDataset& dataset,
                               std::span<const std::int32_t> ids) {
  std::vector<double> costs;
  for (const std::int32_t id : ids) {
    const io::CommSample& sample = dataset.samples[static_cast<std::size_t>(id)];
    const auto& values =
        direction == CommDirection::kForward ? sample.forward_ms : sample.backward_ms;
    costs.insert(costs.end(), values.begin(), values.end());
  }
  return costs;
}

IdParts ids_by_dataset(std::span<const std::int64_t> sizes, std::span<const std::int32_t> ids) {
  IdParts parts(sizes.size());
  for (const std::int32_t id : ids) {
    std::int64_t local = id;
    std::size_t dataset = 0;
    while (local >= sizes[dataset]) local -= sizes[dataset++];
    parts[dataset].push_back(static_cast<std::int32_t>(local));
  }
  return parts;
}

std::vector<std::int32_t> all_ids(std::size_t count) {
  std::vector<std::int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

Result<std::vector<float>> run_network(const nn::SetNetworkSpec& spec,
                                       std::span<const float> parameters,
                                       std::span<const float> features,
                                       const nn::SetSamples& samples,
                                       std::span<const std::int32_t> ids) {
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Backend* backend, nn::select_backend());
  NEUROSHARD_ASSIGN_OR_RETURN(nn::Trainer trainer,
                              nn::Trainer::create(*backend, nullptr, spec, features));
  NEUROSHARD_RETURN_IF_ERROR(trainer.start(parameters));
  std::vector<float> out(ids.size() * static_cast<std::size_t>(spec.outputs()));
  // In pieces: a chunk's memory is kept, and a whole data set at once would keep all of it.
  constexpr std::size_t kPiece = 1024;
  for (std::size_t begin = 0; begin < ids.size(); begin += kPiece) {
    const std::size_t size = std::min(kPiece, ids.size() - begin);
    const auto width = static_cast<std::size_t>(spec.outputs());
    NEUROSHARD_RETURN_IF_ERROR(
        trainer.predict(samples, ids.subspan(begin, size), nn::Trainer::Weights::kCurrent,
                        std::span(out).subspan(begin * width, size * width)));
  }
  return out;
}

}  // namespace neuroshard
