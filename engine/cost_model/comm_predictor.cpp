#include "engine/cost_model/comm_predictor.h"

#include <algorithm>
#include <limits>

#include "engine/cost_model/distinct_values.h"

namespace neuroshard {
namespace {

/// Dims of all devices of all plans, as networks see them.
void fill_dims(const CommBatch& batch, double scale, float* dims) {
  for (std::int64_t k = 0; k < batch.plans * batch.devices; ++k) {
    dims[k] = static_cast<float>(static_cast<double>(batch.dim_sums[k]) * scale);
  }
}

/// Starts of the forward all-to-all of the batch's plan whose devices are from `row` on: compute +
/// backward + what the codec takes for `codec_ms` a column, less the least of them.
void fill_starts(const CommBatch& batch, std::int64_t row, double codec_ms, float* starts) {
  const auto ready = [&](std::int64_t at) {
    return static_cast<double>(batch.compute_ms[at]) + batch.backward_ms[at] +
           codec_ms * static_cast<double>(batch.dim_sums[at]);
  };
  double least = std::numeric_limits<double>::infinity();
  for (std::int32_t d = 0; d < batch.devices; ++d) least = std::min(least, ready(row + d));
  for (std::int32_t d = 0; d < batch.devices; ++d) {
    starts[row + d] = static_cast<float>(ready(row + d) - least);
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
                             const nn::InferenceKernels& kernels, const ExchangeCosts& exchange)
    : architecture_(models.architecture),
      features_(models.features),
      batch_size_(batch_size),
      exchange_(exchange),
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
  const auto devices = static_cast<std::size_t>(batch.devices);
  const std::int64_t values = whole_lines(batch.plans * common) +
                              whole_lines(rows * (network.inputs() - common)) +
                              whole_lines(rows * network.output_stride());
  return static_cast<std::size_t>(values) +
         (fixed ? network.scratch_size(rows)
                : network.scratch_size({.groups = batch.plans, .rows = batch.devices}) +
                      static_cast<std::size_t>(whole_lines(batch.devices)) +
                      distinct_work_size(devices));
}

void CommPredictor::predict(const CommBatch& batch, float* scratch) const {
  if (batch.devices == 1 && architecture_ == CommArchitecture::kPooledDevices) {
    std::fill_n(batch.backward_ms, batch.plans, 0.0f);
    std::fill_n(batch.forward_ms, batch.plans, 0.0f);
    return;
  }
  float* dims = scratch;
  float* starts = dims + padded_values(batch);
  float* work = starts + padded_values(batch);
  fill_dims(batch, exchange_.backward.dims, dims);
  if (architecture_ == CommArchitecture::kFixedDevices) {
    write_costs(backward_, batch, run_fixed(backward_, batch, dims, nullptr, work),
                batch.backward_ms);
  } else {
    pooled_backward(batch, dims, work);
  }
  if (exchange_.has_codecs()) add_codecs(exchange_.backward, batch, batch.backward_ms);
  if (exchange_.forward.dims != exchange_.backward.dims) {
    fill_dims(batch, exchange_.forward.dims, dims);
  }
  for (std::int64_t plan = 0; plan < batch.plans; ++plan) {
    if (batch.together) {
      std::fill_n(starts + plan * batch.devices, batch.devices, 0.0f);
      continue;
    }
    fill_starts(batch, plan * batch.devices, codec_of_own_ms(exchange_.forward, 1, batch_size_),
                starts);
  }
  const bool fixed = architecture_ == CommArchitecture::kFixedDevices;
  const float* outputs = fixed ? run_fixed(forward_, batch, dims, starts, work)
                               : pooled_forward(batch, dims, starts, work);
  write_costs(forward_, batch, outputs, batch.forward_ms);
  if (exchange_.has_codecs()) add_codecs(exchange_.forward, batch, batch.forward_ms);
}

/// On a device's own columns at one end of the way, on those of its samples at the other.
void CommPredictor::add_codecs(const ExchangeCosts::Way& way, const CommBatch& batch,
                               float* out) const {
  const auto devices = static_cast<std::size_t>(batch.devices);
  const std::int64_t* dims = batch.dim_sums;
  for (std::int64_t plan = 0; plan < batch.plans; ++plan, dims += devices, out += devices) {
    const double kept = codec_of_kept_ms(way, {dims, devices}, batch_size_);
    for (std::size_t d = 0; d < devices; ++d) {
      out[d] += static_cast<float>(kept + codec_of_own_ms(way, dims[d], batch_size_));
    }
  }
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
const float* CommPredictor::pooled_forward(const CommBatch& batch, const float* dims,
                                           const float* starts, float* work) const {
  const nn::PackedMlp& network = forward_.network;
  const auto devices = static_cast<std::size_t>(batch.devices);
  const auto common_size = static_cast<std::int64_t>(forward_.common);
  const auto own_size = static_cast<std::int64_t>(forward_.own());
  const std::int64_t rows = batch.plans * batch.devices;
  float* common = work;
  float* own = common + whole_lines(batch.plans * common_size);
  float* outputs = own + whole_lines(rows * own_size);
  float* layers = outputs + whole_lines(rows * network.output_stride());
  for (std::int64_t plan = 0; plan < batch.plans; ++plan) {
    const std::int64_t at = plan * batch.devices;
    features_.compute_split({{dims + at, devices}, {starts + at, devices}, batch_size_},
                            {common + plan * common_size, forward_.common},
                            {own + at * own_size, devices * forward_.own()});
  }
  scale(batch.plans, 0, forward_.common, forward_.scaling, common);
  scale(rows, forward_.common, forward_.own(), forward_.scaling, own);
  network.forward_groups({batch.plans, batch.devices, static_cast<int>(common_size), common, own},
                         layers, outputs);
  return outputs;
}

/// The backward network sees a device's dims and nothing else of its own, and most devices share
/// theirs with others: one row per distinct value, plan by plan.
void CommPredictor::pooled_backward(const CommBatch& batch, const float* dims, float* work) const {
  const nn::PackedMlp& network = backward_.network;
  const auto devices = static_cast<std::size_t>(batch.devices);
  const auto own_size = static_cast<std::int64_t>(backward_.own());
  float* numbers = work;
  float* common = numbers + whole_lines(batch.devices);
  float* own = common + whole_lines(static_cast<std::int64_t>(backward_.common));
  float* outputs = own + whole_lines(batch.devices * own_size);
  float* layers = outputs + whole_lines(batch.devices * network.output_stride());
  float* out = batch.backward_ms;
  for (std::int64_t plan = 0; plan < batch.plans; ++plan, dims += devices, out += devices) {
    features_.compute_split({{dims, devices}, {}, batch_size_}, {common, backward_.common},
                            {own, devices * backward_.own()});
    const std::int64_t rows = number_distinct({dims, devices}, numbers, layers);
    // A number's first device has no lower place than the number: rows move forward only.
    for (std::int64_t device = 0, row = 0; row < rows; ++device) {
      if (numbers[device] != static_cast<float>(row)) continue;
      std::copy_n(own + device * own_size, own_size, own + row++ * own_size);
    }
    scale(1, 0, backward_.common, backward_.scaling, common);
    scale(rows, backward_.common, backward_.own(), backward_.scaling, own);
    network.forward_groups({1, rows, static_cast<int>(backward_.common), common, own}, layers,
                           outputs);
    for (std::size_t device = 0; device < devices; ++device) {
      const auto row = static_cast<std::int64_t>(numbers[device]);
      out[device] = milliseconds_of(outputs[row * network.output_stride()], backward_.target);
    }
  }
}

/// Of all plans: rows of outputs become milliseconds, one a device.
void CommPredictor::write_costs(const Direction& direction, const CommBatch& batch,
                                const float* outputs, float* out) const {
  const int stride = direction.network.output_stride();
  const std::int64_t row_values =
      architecture_ == CommArchitecture::kFixedDevices ? batch.devices : 1;
  const std::int64_t rows = batch.plans * batch.devices / row_values;
  for (std::int64_t row = 0; row < rows; ++row, outputs += stride) {
    for (std::int64_t k = 0; k < row_values; ++k) {
      *out++ = milliseconds_of(outputs[k], direction.target);
    }
  }
}

}  // namespace neuroshard
