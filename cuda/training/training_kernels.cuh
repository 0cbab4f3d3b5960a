#pragma once

// The operations of nn/backend.h that are no matrix product: a thread per value, sums in the order
// of the CPU's reference unless said otherwise.

#include <cstdint>

#include "cuda/training/op_list.h"

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

inline constexpr int kLanes = 32;

/// The plain form of DenseForward, for shapes that cuBLASLt has nothing for: a warp per output.
__global__ void dense_kernel(nn::DenseForward op) {
  const std::int64_t i = thread_number() / kLanes;
  const int outputs = op.spec.outputs;
  if (i >= op.rows * outputs) return;
  const std::int64_t row = i / outputs;
  const std::int64_t o = i - row * outputs;
  const float* x = op.x + row * op.spec.inputs;
  const float* weight = op.weight + o * op.spec.inputs;
  const auto lane = static_cast<int>(threadIdx.x % kLanes);
  float sum = 0;
  for (int k = lane; k < op.spec.inputs; k += kLanes) sum = __fmaf_rn(x[k], weight[k], sum);
  for (int bit = 1; bit < kLanes; bit *= 2) sum += __shfl_xor_sync(0xffffffffU, sum, bit);
  if (lane != 0) return;
  sum += op.bias[o];
  op.y[i] = op.spec.activation == nn::Activation::kRelu && !(sum > 0) ? 0 : sum;
}

// Sums over the rows of a batch: a block has kSumColumns sums, its kSumParts warps every
// kSumParts-th row each; their parts are added in order.
inline constexpr int kSumColumns = 32;
inline constexpr int kSumParts = 16;

/// The sum of `parts` over the warps of a block, in the first warp; column by column.
__device__ __forceinline__ float add_parts(float part) {
  __shared__ float parts[kSumParts][kSumColumns];
  parts[threadIdx.y][threadIdx.x] = part;
  __syncthreads();
  float sum = 0;
  if (threadIdx.y == 0) {
    for (int k = 0; k < kSumParts; ++k) sum += parts[k][threadIdx.x];
  }
  return sum;
}

/// The plain form of the weight gradient; blockIdx.y is the output.
__global__ void __launch_bounds__(kSumColumns* kSumParts)
    weight_gradient_kernel(nn::DenseBackward op) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kSumColumns + threadIdx.x;
  const std::int64_t o = blockIdx.y;
  const bool mine = k < op.spec.inputs;
  float part = 0;
  for (std::int64_t row = threadIdx.y; mine && row < op.rows; row += kSumParts) {
    part = __fmaf_rn(op.dy[row * op.spec.outputs + o], op.x[row * op.spec.inputs + k], part);
  }
  const float sum = add_parts(part);
  if (mine && threadIdx.y == 0) op.dweight[o * op.spec.inputs + k] = sum;
}

/// The plain form of the bias gradient.
__global__ void __launch_bounds__(kSumColumns* kSumParts)
    bias_gradient_kernel(nn::DenseBackward op) {
  const std::int64_t o = static_cast<std::int64_t>(blockIdx.x) * kSumColumns + threadIdx.x;
  const bool mine = o < op.spec.outputs;
  float part = 0;
  for (std::int64_t row = threadIdx.y; mine && row < op.rows; row += kSumParts) {
    part += op.dy[row * op.spec.outputs + o];
  }
  const float sum = add_parts(part);
  if (mine && threadIdx.y == 0) op.dbias[o] = sum;
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

/// For one segment more than there are: the rows behind the last one, whose gradient is 0. With a
/// gate, a ReLU's outputs, also ReluBackward of what it gives.
__global__ void segment_sum_backward_kernel(nn::SegmentSumBackward op,
                                            const float* __restrict__ gate) {
  const std::int64_t i = thread_number();
  if (i >= (op.segments + 1) * op.width) return;
  const std::int64_t segment = i / op.width;
  const std::int64_t column = i - segment * op.width;
  const bool fills = segment == op.segments;
  const float value = fills ? 0.0F : op.dy[i];
  const std::int64_t end = fills ? op.rows : op.offsets[segment + 1];
  const bool gated = gate != nullptr && !fills;
  for (std::int64_t k = op.offsets[segment]; k < end; ++k) {
    const std::int64_t at = k * op.width + column;
    op.dx[at] = gated && !(gate[at] > 0) ? 0.0F : value;
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

__global__ void store_kernel(StepScalars scalars, StepScalars* to) { *to = scalars; }

/// Adam's step of parameter `i` with gradient `g`; the parameter afterwards.
__device__ __forceinline__ float adam_step(const nn::Adam& op, const StepScalars& by,
                                           std::int64_t i, float g) {
  const float m = by.beta1 * op.m[i] + (1 - by.beta1) * g;
  const float v = by.beta2 * op.v[i] + (1 - by.beta2) * g * g;
  op.m[i] = m;
  op.v[i] = v;
  const float shrunk = op.parameter[i] * by.keep;
  const float stepped = shrunk - by.rate * (m * by.m_scale) / (sqrtf(v * by.v_scale) + by.epsilon);
  op.parameter[i] = stepped;
  return stepped;
}

__global__ void adam_kernel(nn::Adam op, const StepScalars* __restrict__ scalars) {
  const std::int64_t i = thread_number();
  if (i < op.count) adam_step(op, *scalars, i, op.gradient[i]);
}

__device__ __forceinline__ void average_step(const nn::MovingAverage& op, const StepScalars& by,
                                             std::int64_t i, float value) {
  op.average[i] = by.keep_average * op.average[i] + (1 - by.keep_average) * value;
}

__global__ void moving_average_kernel(nn::MovingAverage op,
                                      const StepScalars* __restrict__ scalars) {
  const std::int64_t i = thread_number();
  if (i < op.count) average_step(op, *scalars, i, op.value[i]);
}

/// The end of a step at once: the chunks' gradients added, Adam, the moving average.
__global__ void end_step_kernel(nn::SegmentSum sum, nn::Adam adam, nn::MovingAverage average,
                                const StepScalars* __restrict__ scalars) {
  const std::int64_t i = thread_number();
  if (i >= adam.count) return;
  float gradient = 0;
  for (std::int64_t k = sum.offsets[0]; k < sum.offsets[1]; ++k) {
    gradient += sum.x[k * sum.width + i];
  }
  sum.y[i] = gradient;
  average_step(average, *scalars, i, adam_step(adam, *scalars, i, gradient));
}

}  // namespace neuroshard::cuda
