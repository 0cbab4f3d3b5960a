#pragma once

// The operations of nn/backend.h that are no matrix product: a thread per value, sums in the order
// of the CPU's reference unless said otherwise.

#include <cstdint>

#include "nn/backend.h"

namespace neuroshard::cuda {

inline constexpr int kTrainingThreads = 256;

__device__ __forceinline__ std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__global__ void gather_kernel(nn::GatherRows op) {
  const std::int64_t i = thread_number();
  if (i >= op.rows * op.width) return;
  const std::int64_t row = i / op.width;
  op.out[i] = op.table[std::int64_t{op.index[row]} * op.width + (i - row * op.width)];
}

/// The plain form of DenseForward, for shapes that cuBLASLt has nothing for.
__global__ void dense_kernel(nn::DenseForward op) {
  const std::int64_t i = thread_number();
  const int outputs = op.spec.outputs;
  if (i >= op.rows * outputs) return;
  const std::int64_t row = i / outputs;
  const std::int64_t o = i - row * outputs;
  const float* x = op.x + row * op.spec.inputs;
  const float* weight = op.weight + o * op.spec.inputs;
  float sum = op.bias[o];
  for (int k = 0; k < op.spec.inputs; ++k) sum = __fmaf_rn(x[k], weight[k], sum);
  op.y[i] = op.spec.activation == nn::Activation::kRelu && !(sum > 0) ? 0 : sum;
}

/// The plain form of the weight gradient; value inputs * outputs + o is the bias gradient of o.
__global__ void weight_gradient_kernel(nn::DenseBackward op) {
  const std::int64_t i = thread_number();
  const std::int64_t inputs = op.spec.inputs;
  const std::int64_t outputs = op.spec.outputs;
  if (i >= (inputs + 1) * outputs) return;
  const bool bias = i >= inputs * outputs;
  const std::int64_t o = bias ? i - inputs * outputs : i / inputs;
  const std::int64_t k = bias ? 0 : i - o * inputs;
  float* target = bias ? op.dbias + o : op.dweight + i;
  float sum = op.mode == nn::GradMode::kAccumulate ? *target : 0;
  for (std::int64_t row = 0; row < op.rows; ++row) {
    sum = __fmaf_rn(op.dy[row * outputs + o], bias ? 1.0F : op.x[row * inputs + k], sum);
  }
  *target = sum;
}

/// The plain form of the input gradient, its gate included.
__global__ void input_gradient_kernel(nn::DenseBackward op) {
  const std::int64_t i = thread_number();
  const int inputs = op.spec.inputs;
  if (i >= op.rows * inputs) return;
  const std::int64_t row = i / inputs;
  const std::int64_t k = i - row * inputs;
  float sum = 0;
  for (int o = 0; o < op.spec.outputs; ++o) {
    sum = __fmaf_rn(op.dy[row * op.spec.outputs + o], op.weight[std::int64_t{o} * inputs + k], sum);
  }
  op.dx[i] = op.x_activation == nn::Activation::kRelu && !(op.x[i] > 0) ? 0 : sum;
}

__global__ void relu_backward_kernel(nn::ReluBackward op) {
  const std::int64_t i = thread_number();
  if (i < op.count && !(op.y[i] > 0)) op.dy[i] = 0;
}

__global__ void segment_sum_kernel(nn::SegmentSum op) {
  const std::int64_t i = thread_number();
  if (i >= op.segments * op.width) return;
  const std::int64_t segment = i / op.width;
  const std::int64_t column = i - segment * op.width;
  float sum = 0;
  for (std::int64_t k = op.offsets[segment]; k < op.offsets[segment + 1]; ++k) {
    sum += op.x[k * op.width + column];
  }
  op.y[i] = sum;
}

__global__ void segment_sum_backward_kernel(nn::SegmentSumBackward op) {
  const std::int64_t i = thread_number();
  if (i >= op.segments * op.width) return;
  const std::int64_t segment = i / op.width;
  const std::int64_t column = i - segment * op.width;
  const float value = op.dy[i];
  for (std::int64_t k = op.offsets[segment]; k < op.offsets[segment + 1]; ++k) {
    op.dx[k * op.width + column] = value;
  }
}

/// nn::loss_at (nn/loss.cpp) for the GPU.
__device__ inline nn::LossValue loss_on_device(const nn::LossSpec& spec, double prediction,
                                               double target) {
  const double error = prediction - target;
  const double delta = spec.delta;
  switch (spec.kind) {
    case nn::LossKind::kSquared:
      break;
    case nn::LossKind::kHuber:
      if (fabs(error) <= delta) break;
      return {delta * (2 * fabs(error) - delta), copysign(2 * delta, error)};
    case nn::LossKind::kLogCosh: {
      const double size = fabs(error / delta);
      const double log_cosh = size + log1p(exp(-2 * size)) - 0.69314718055994530942;
      return {2 * delta * delta * log_cosh, 2 * delta * tanh(error / delta)};
    }
    case nn::LossKind::kRelative: {
      const double size = fmax(fabs(target), delta);
      return {error * error / (size * size), 2 * error / (size * size)};
    }
    case nn::LossKind::kSquaredOverTarget: {
      const double size = fmax(fabs(target), delta);
      return {error * error / size, 2 * error / size};
    }
  }
  return {error * error, 2 * error};
}

/// One block: thread t adds up every kTrainingThreads-th loss from t on, then the threads' sums are
/// added in pairs.
__global__ void loss_kernel(nn::Loss op) {
  __shared__ double sums[kTrainingThreads];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < op.count; i += kTrainingThreads) {
    const nn::LossValue loss = loss_on_device(op.spec, op.prediction[i], op.target[i]);
    op.slope[i] = static_cast<float>(op.scale * loss.slope);
    sum += loss.value;
  }
  sums[threadIdx.x] = sum;
  for (int half = kTrainingThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *op.sum += sums[0];
}

__global__ void adam_kernel(nn::Adam op, float m_scale, float v_scale) {
  const std::int64_t i = thread_number();
  if (i >= op.count) return;
  const float g = op.gradient[i];
  const float m = op.beta1 * op.m[i] + (1 - op.beta1) * g;
  const float v = op.beta2 * op.v[i] + (1 - op.beta2) * g * g;
  op.m[i] = m;
  op.v[i] = v;
  const float shrunk = op.parameter[i] * (1 - op.rate * op.decay);
  op.parameter[i] = shrunk - op.rate * (m * m_scale) / (sqrtf(v * v_scale) + op.epsilon);
}

__global__ void moving_average_kernel(nn::MovingAverage op) {
  const std::int64_t i = thread_number();
  if (i < op.count) op.average[i] = op.keep * op.average[i] + (1 - op.keep) * op.value[i];
}

}  // namespace neuroshard::cuda
