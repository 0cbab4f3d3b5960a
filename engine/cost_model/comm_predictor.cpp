#include "engine/cost_model/comm_predictor.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace neuroshard {
namespace {

float cost_of(float output, CostTarget target) {
  const float ms = target == CostTarget::kMilliseconds ? output : std::exp(output);
  return std::isnan(ms) ? std::numeric_limits<float>::infinity() : ms;
}

/// Starts of one plan's forward all-to-all: compute + backward, less the least of them.
void fill_starts(std::int32_t devices, const float* compute, const float* backward, float* starts) {
  double least = std::numeric_limits<double>::infinity();
  for (std::int32_t d = 0; d < devices; ++d) {
    least = std::min(least, static_cast<double>(compute[d]) + backward[d]);
  }
  for (std::int32_t d = 0; d < devices; ++d) {
    starts[d] = static_cast<float>(static_cast<double>(compute[d]) + backward[d] - least);
  }
}

std::int64_t whole_lines(std::int64_t floats) { return (floats + 15) / 16 * 16; }

/// Room for one float a device of each plan, a multiple of a cache line: what follows stays
/// aligned.
std::int64_t padded_values(const CommBatch& batch) {
  return whole_lines(batch.plans * batch.devices);
}

/// Common inputs first, then a device's own.
std::vector<int> order_of(const CommFeatureSet::Split& split) {
  std::vector<int> order = split.common;
  order.insert(order.end(), split.own.begin(), split.own.end());
  return order;
}

/// The network for inputs in another order; no order: as they are.
nn::Mlp reordered(const nn::Mlp& mlp, const std::vector<int>& order) {
  if (order.empty()) return mlp;
  nn::Mlp result = mlp;
  const std::size_t inputs = order.size();
  for (std::size_t at = 0; at < mlp.weight(0).size(); ++at) {
    const auto from = static_cast<std::size_t>(order[at % inputs]);
    result.weight(0)[at] = mlp.weight(0)[at / inputs * inputs + from];
  }
  return result;
}

Scaling reordered(const Scaling& scaling, const std::vector<int>& order) {
  if (order.empty()) return scaling;
  Scaling result;
  for (const int from : order) {
    result.mean.push_back(scaling.mean[static_cast<std::size_t>(from)]);
    result.std.push_back(scaling.std[static_cast<std::size_t>(from)]);
  }
  return result;
}

/// Standardises `rows` rows of `width` inputs, those of the scaling from `first` on.
void scale(std::int64_t rows, std::size_t first, std::size_t width, const Scaling& scaling,
           float* values) {
  const float* mean = scaling.mean.data() + first;
  const float* std = scaling.std.data() + first;
  for (std::int64_t row = 0; row < rows; ++row, values += width) {
    for (std::size_t k = 0; k < width; ++k) values[k] = (values[k] - mean[k]) / std[k];
  }
}

}  // namespace

CommPredictor::Direction::Direction(const CommModel& model, const CommFeatureSet::Split& split,
                                    const nn::InferenceKernels& kernels)
    : common(split.common.size()),
      scaling(reordered(model.scaling, order_of(split))),
      target(model.target),
      network(reordered(model.mlp, order_of(split)), kernels) {}

CommPredictor::CommPredictor(const CommModels& models, std::int64_t batch_size,
                             const nn::InferenceKernels& kernels)
    : architecture_(models.architecture),
      features_(models.features),
      batch_size_(batch_size),
      forward_(models.forward, features_.split(true), kernels),
      backward_(models.backward, features_.split(false), kernels) {}

std::size_t CommPredictor::scratch_size(const CommBatch& batch) const {
  return 2 * static_cast<std::size_t>(padded_values(batch)) +
         std::max(work_size(backward_, batch), work_size(forward_, batch));
}

std::size_t CommPredictor::work_size(const Direction& direction, const CommBatch& batch) const {
  const nn::PackedMlp& network = direction.network;
  const bool fixed = architecture_ == CommArchitecture::kFixedDevices;
  const std::int64_t rows = fixed ? batch.plans : batch.plans * batch.devices;
  const auto common = static_cast<std::int64_t>(direction.common);
  const std::int64_t inputs =
      whole_lines(batch.plans * common) + whole_lines(rows * (network.inputs() - common));
  return static_cast<std::size_t>(inputs + whole_lines(rows * network.output_stride())) +
         (fixed ? network.scratch_size(rows)
                : network.scratch_size({.groups = batch.plans, .rows = batch.devices}));
}

void CommPredictor::predict(const CommBatch& batch, float* scratch) const {
  float* dims = scratch;
  float* starts = dims + padded_values(batch);
  float* work = starts + padded_values(batch);
  for (std::int64_t k = 0; k < batch.plans * batch.devices; ++k) {
    dims[k] = static_cast<float>(batch.dim_sums[k]);
  }
  run(backward_, batch, dims, nullptr, work, batch.backward_ms);
  for (std::int64_t plan = 0; plan < batch.plans; ++plan) {
    const std::int64_t row = plan * batch.devices;
    fill_starts(batch.devices, batch.compute_ms + row, batch.backward_ms + row, starts + row);
  }
  run(forward_, batch, dims, starts, work, batch.forward_ms);
}

/// One row of the network a plan: all dims, then all starts unless null. Returns the outputs, of
/// which a row is output_stride() apart.
const float* CommPredictor::run_fixed(const Direction& direction, const CommBatch& batch,
                                      const float* dims, const float* starts, float* work) const {
  const nn::PackedMlp& network = direction.network;
  const auto width = static_cast<std::size_t>(network.inputs());
  float* inputs = work;
  float* outputs = inputs + whole_lines(batch.plans * network.inputs());
  float* layers = outputs + whole_lines(batch.plans * network.output_stride());
  for (std::int64_t plan = 0; plan < batch.plans; ++plan) {
    const std::int64_t at = plan * batch.devices;
    float* row = std::copy_n(dims + at, batch.devices, inputs + plan * network.inputs());
    if (starts != nullptr) std::copy_n(starts + at, batch.devices, row);
  }
  scale(batch.plans, 0, width, direction.scaling, inputs);
  network.forward(batch.plans, inputs, network.inputs(), layers, outputs);
  return outputs;
}

/// One row a device; what a plan's devices have in common meets the first layer once.
const float* CommPredictor::run_pooled(const Direction& direction, const CommBatch& batch,
                                       const float* dims, const float* starts, float* work) const {
  const nn::PackedMlp& network = direction.network;
  const auto devices = static_cast<std::size_t>(batch.devices);
  const std::size_t own_size = direction.own();
  const std::int64_t rows = batch.plans * batch.devices;
  const auto common_values = batch.plans * static_cast<std::int64_t>(direction.common);
  float* common = work;
  float* own = common + whole_lines(common_values);
  float* outputs = own + whole_lines(rows * static_cast<std::int64_t>(own_size));
  float* layers = outputs + whole_lines(rows * network.output_stride());
  for (std::int64_t plan = 0; plan < batch.plans; ++plan) {
    const std::int64_t at = plan * batch.devices;
    const CommInput input{
        {dims + at, devices},
        {starts == nullptr ? nullptr : starts + at, starts == nullptr ? std::size_t{0} : devices},
        batch_size_};
    features_.compute_split(
        input, {common + plan * static_cast<std::int64_t>(direction.common), direction.common},
        {own + at * static_cast<std::int64_t>(own_size), devices * own_size});
  }
  scale(batch.plans, 0, direction.common, direction.scaling, common);
  scale(rows, direction.common, own_size, direction.scaling, own);
  network.forward_groups(
      {batch.plans, batch.devices, static_cast<int>(direction.common), common, own}, layers,
      outputs);
  return outputs;
}

void CommPredictor::run(const Direction& direction, const CommBatch& batch, const float* dims,
                        const float* starts, float* work, float* out) const {
  const bool fixed = architecture_ == CommArchitecture::kFixedDevices;
  const float* outputs = fixed ? run_fixed(direction, batch, dims, starts, work)
                               : run_pooled(direction, batch, dims, starts, work);
  const int stride = direction.network.output_stride();
  const std::int64_t row_values = fixed ? batch.devices : 1;
  const std::int64_t rows = batch.plans * batch.devices / row_values;
  for (std::int64_t row = 0; row < rows; ++row, outputs += stride) {
    for (std::int64_t k = 0; k < row_values; ++k) {
      *out++ = cost_of(outputs[k], direction.target);
    }
  }
}

}  // namespace neuroshard
