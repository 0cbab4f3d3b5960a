#include "nn/inference.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace neuroshard::nn {
namespace {

void dense_scalar(DenseRows layer) {
  for (std::int64_t row = 0; row < layer.rows; ++row) {
    const float* x = layer.x + row * layer.x_stride;
    float* y = layer.y + row * layer.y_stride;
    std::copy(layer.bias, layer.bias + layer.outputs, y);
    for (int i = 0; i < layer.inputs; ++i) {
      const float value = x[i];
      const float* from = layer.weight + static_cast<std::ptrdiff_t>(i) * layer.outputs;
      for (int o = 0; o < layer.outputs; ++o) y[o] += value * from[o];
    }
    if (!layer.relu) continue;
    for (int o = 0; o < layer.outputs; ++o) y[o] = std::max(y[o], 0.0f);
  }
}

/// Eight running sums are added pairwise at the end: the order is part of the reference, so that
/// the compiler may use vectors without changing a bit.
float sum_of(const std::array<float, kInferenceLanes>& sums) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

float add_relu_dot_scalar(int size, const float* addend, const float* weight, float* state) {
  std::array<float, kInferenceLanes> sums{};
  for (int i = 0; i < size; i += kInferenceLanes) {
    for (int lane = 0; lane < kInferenceLanes; ++lane) {
      const float value = state[i + lane] + addend[i + lane];
      state[i + lane] = value;
      sums[static_cast<std::size_t>(lane)] += std::max(value, 0.0f) * weight[i + lane];
    }
  }
  return sum_of(sums);
}

float sum_relu_dot_scalar(int size, const float* const* parts, int count, const float* weight) {
  std::array<float, kInferenceLanes> sums{};
  for (int i = 0; i < size; i += kInferenceLanes) {
    std::array<float, kInferenceLanes> values;
    std::copy_n(parts[0] + i, kInferenceLanes, values.begin());
    for (int part = 1; part < count; ++part) {
      for (std::size_t lane = 0; lane < values.size(); ++lane)
        values[lane] += (parts[part] + i)[lane];
    }
    for (std::size_t lane = 0; lane < values.size(); ++lane) {
      sums[lane] += std::max(values[lane], 0.0f) * (weight + i)[lane];
    }
  }
  return sum_of(sums);
}

void max_dot_rows_scalar(int size, std::int64_t rows, const float* x, const float* addend,
                         const float* weight, float offset, float* out) {
  for (std::int64_t row = 0; row < rows; ++row, x += size) {
    std::array<float, kInferenceLanes> sums{};
    for (int i = 0; i < size; i += kInferenceLanes) {
      for (int lane = 0; lane < kInferenceLanes; ++lane) {
        sums[static_cast<std::size_t>(lane)] +=
            std::max(x[i + lane], -addend[i + lane]) * weight[i + lane];
      }
    }
    const float sum = sum_of(sums) + offset;
    out[row] = sum == sum ? sum : std::numeric_limits<float>::infinity();
  }
}

constexpr InferenceKernels kScalarKernels{dense_scalar, add_relu_dot_scalar, sum_relu_dot_scalar,
                                          max_dot_rows_scalar, nullptr};

}  // namespace

const InferenceKernels& inference_kernels(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return kAvx2InferenceKernels;
    case Isa::kAvx512:
      return kAvx512InferenceKernels;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return kNeonInferenceKernels;
#endif
    default:
      return kScalarKernels;
  }
}

PackedMlp::PackedMlp(const Mlp& mlp, const InferenceKernels& kernels) : kernels_(&kernels) {
  std::size_t size = 0;
  for (const DenseSpec& spec : mlp.layers()) {
    const auto outputs = static_cast<std::size_t>(padded_width(spec.outputs));
    const std::size_t bias = size + static_cast<std::size_t>(spec.inputs) * outputs;
    layers_.push_back(
        {spec.inputs, spec.outputs, spec.activation == Activation::kRelu, size, bias});
    size = bias + outputs;
    widest_ = std::max(widest_, static_cast<int>(outputs));
  }
  parameters_.assign(size, 0.0f);
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const Layer& layer = layers_[k];
    const auto inputs = static_cast<std::size_t>(layer.inputs);
    const auto outputs = static_cast<std::size_t>(layer.outputs);
    const auto stride = static_cast<std::size_t>(padded_width(layer.outputs));
    const std::span<const float> weight = mlp.weight(k);
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        parameters_[layer.weight + i * stride + o] = weight[o * inputs + i];
      }
    }
    std::copy(mlp.bias(k).begin(), mlp.bias(k).end(),
              parameters_.begin() + static_cast<std::ptrdiff_t>(layer.bias));
  }
}

std::size_t PackedMlp::scratch_size(std::int64_t rows) const {
  return 2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(widest_);
}

void PackedMlp::forward(std::int64_t rows, const float* x, std::int64_t x_stride, float* scratch,
                        float* y) const {
  forward_from(0, rows, x, x_stride, scratch, scratch + scratch_size(rows) / 2, y);
}

/// The layers from `layer` on; what they compute alternates between the two work spaces.
void PackedMlp::forward_from(std::size_t layer, std::int64_t rows, const float* x,
                             std::int64_t x_stride, float* scratch, float* other, float* y) const {
  for (std::size_t k = layer; k < layers_.size(); ++k) {
    const Layer& spec = layers_[k];
    const int outputs = padded_width(spec.outputs);
    float* to = k + 1 == layers_.size() ? y : scratch;
    kernels_->dense({rows, spec.inputs, outputs, x, x_stride, parameters_.data() + spec.weight,
                     parameters_.data() + spec.bias, spec.relu, to, outputs});
    x = to;
    x_stride = outputs;
    std::swap(scratch, other);
  }
}

std::size_t PackedMlp::scratch_size(const Groups& groups) const {
  return scratch_size(groups.groups * groups.rows) + static_cast<std::size_t>(widest_);
}

void PackedMlp::forward_groups(const Groups& groups, float* scratch, float* y) const {
  const Layer& first = layers_.front();
  const int outputs = padded_width(first.outputs);
  const int own = first.inputs - groups.common;
  const std::int64_t rows = groups.groups * groups.rows;
  float* base = scratch;  // what the common inputs and the bias come to
  scratch += widest_;
  float* other = scratch + scratch_size(rows) / 2;
  float* to = layers_.size() == 1 ? y : scratch;
  const float* weight = parameters_.data() + first.weight;
  const float* bias = parameters_.data() + first.bias;
  for (std::int64_t group = 0; group < groups.groups; ++group) {
    kernels_->dense({1, groups.common, outputs, groups.common_x + group * groups.common,
                     groups.common, weight, bias, false, base, outputs});
    kernels_->dense({groups.rows, own, outputs, groups.x + group * groups.rows * own, own,
                     weight + static_cast<std::ptrdiff_t>(groups.common) * outputs, base,
                     first.relu, to + group * groups.rows * outputs, outputs});
  }
  forward_from(1, rows, to, outputs, other, scratch, y);
}

}  // namespace neuroshard::nn
