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

/// Room for one float a device of each plan, a multiple of a cache line: what follows stays
/// aligned.
std::int64_t padded_values(const CommBatch& batch) {
  return (batch.plans * batch.devices + 15) / 16 * 16;
}

}  // namespace

CommPredictor::CommPredictor(const CommModels& models, std::int64_t batch_size,
                             const nn::InferenceKernels& kernels)
    : architecture_(models.architecture),
      features_(models.features),
      batch_size_(batch_size),
      forward_(models.forward, kernels),
      backward_(models.backward, kernels) {}

std::size_t CommPredictor::scratch_size(const CommBatch& batch) const {
  return 2 * static_cast<std::size_t>(padded_values(batch)) +
         std::max(work_size(backward_, batch), work_size(forward_, batch));
}

std::size_t CommPredictor::work_size(const Direction& direction, const CommBatch& batch) const {
  const nn::PackedMlp& network = direction.network;
  const std::int64_t rows = batch.plans * rows_per_plan(batch.devices);
  const int widths = nn::padded_width(network.inputs()) + network.output_stride();
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(widths) +
         network.scratch_size(rows);
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

/// The network's inputs for one plan, unscaled; `starts` is null for the backward direction.
void CommPredictor::fill_inputs(std::int32_t devices, const float* dims, const float* starts,
                                std::span<float> inputs) const {
  const auto count = static_cast<std::size_t>(devices);
  const std::size_t with_starts = starts == nullptr ? 0 : count;
  if (architecture_ == CommArchitecture::kFixedDevices) {
    std::copy_n(dims, count, inputs.begin());
    std::copy_n(starts, with_starts, inputs.begin() + devices);
  } else {
    features_.compute({{dims, count}, {starts, with_starts}, batch_size_}, inputs);
  }
}

void CommPredictor::run(const Direction& direction, const CommBatch& batch, const float* dims,
                        const float* starts, float* work, float* out) const {
  const nn::PackedMlp& network = direction.network;
  const auto width = static_cast<std::size_t>(network.inputs());
  const std::int64_t plan_rows = rows_per_plan(batch.devices);
  const std::int64_t rows = batch.plans * plan_rows;
  float* inputs = work;
  float* outputs = inputs + rows * nn::padded_width(network.inputs());
  float* layers = outputs + rows * network.output_stride();
  for (std::int64_t plan = 0; plan < batch.plans; ++plan) {
    const std::int64_t at = plan * batch.devices;
    const std::span<float> plan_inputs(inputs + plan * plan_rows * network.inputs(),
                                       static_cast<std::size_t>(plan_rows) * width);
    fill_inputs(batch.devices, dims + at, starts == nullptr ? nullptr : starts + at, plan_inputs);
    for (std::size_t k = 0; k < plan_inputs.size(); ++k) {
      const std::size_t feature = k % width;
      plan_inputs[k] =
          (plan_inputs[k] - direction.scaling.mean[feature]) / direction.scaling.std[feature];
    }
  }
  network.forward(rows, inputs, network.inputs(), layers, outputs);
  const std::int64_t row_values = batch.devices / plan_rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < row_values; ++k) {
      out[row * row_values + k] =
          cost_of(outputs[row * network.output_stride() + k], direction.target);
    }
  }
}

}  // namespace neuroshard
