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

/// Room for all starts, a multiple of a cache line, so that what follows stays aligned.
std::size_t starts_size(const CommBatch& batch) {
  const std::int64_t values = batch.plans * batch.devices;
  return static_cast<std::size_t>((values + 15) / 16 * 16);
}

}  // namespace

CommPredictor::CommPredictor(const CommModels& models, const nn::InferenceKernels& kernels)
    : forward_(models.forward, kernels), backward_(models.backward, kernels) {}

std::size_t CommPredictor::scratch_size(const CommBatch& batch) const {
  return starts_size(batch) + std::max(work_size(backward_, batch), work_size(forward_, batch));
}

std::size_t CommPredictor::work_size(const Direction& direction, const CommBatch& batch) const {
  const nn::PackedMlp& network = direction.network;
  const int widths = nn::padded_width(network.inputs()) + network.output_stride();
  return static_cast<std::size_t>(batch.plans) * static_cast<std::size_t>(widths) +
         network.scratch_size(batch.plans);
}

void CommPredictor::predict(const CommBatch& batch, float* scratch) const {
  float* starts = scratch;
  float* work = scratch + starts_size(batch);
  run(backward_, batch, nullptr, work, batch.backward_ms);
  for (std::int64_t plan = 0; plan < batch.plans; ++plan) {
    const std::int64_t row = plan * batch.devices;
    fill_starts(batch.devices, batch.compute_ms + row, batch.backward_ms + row, starts + row);
  }
  run(forward_, batch, starts, work, batch.forward_ms);
}

/// One row a plan: all dims, then (forward only: `starts` not null) all starts.
void CommPredictor::run(const Direction& direction, const CommBatch& batch, const float* starts,
                        float* scratch, float* out) const {
  const nn::PackedMlp& network = direction.network;
  const std::int64_t in_stride = nn::padded_width(network.inputs());
  const std::int64_t out_stride = network.output_stride();
  float* inputs = scratch;
  float* outputs = inputs + batch.plans * in_stride;
  float* layers = outputs + batch.plans * out_stride;
  const std::int32_t devices = batch.devices;
  const float* mean = direction.scaling.mean.data();
  const float* std = direction.scaling.std.data();
  for (std::int64_t plan = 0; plan < batch.plans; ++plan) {
    float* row = inputs + plan * in_stride;
    for (std::int32_t d = 0; d < devices; ++d) {
      row[d] = (static_cast<float>(batch.dim_sums[plan * devices + d]) - mean[d]) / std[d];
      if (starts == nullptr) continue;
      const std::int32_t at = devices + d;
      row[at] = (starts[plan * devices + d] - mean[at]) / std[at];
    }
  }
  network.forward(batch.plans, inputs, in_stride, layers, outputs);
  for (std::int64_t plan = 0; plan < batch.plans; ++plan) {
    for (std::int32_t d = 0; d < devices; ++d) {
      out[plan * devices + d] = cost_of(outputs[plan * out_stride + d], direction.target);
    }
  }
}

}  // namespace neuroshard
