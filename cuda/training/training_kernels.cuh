#pragma once

// The operations of nn/backend.h that are no matrix product: a thread per value, sums in the order
// of the CPU's reference unless said otherwise.

#include <algorithm>
#include <cstdint>

#include "cuda/training/op_list.h"
#include "cuda/unroll.h"

namespace neuroshard::cuda {

inline constexpr int kTrainingThreads = 256;

__device__ __forceinline__ std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// Calls use(k, value) for values 0 .. count - 1, `stride` apart, in their order; kAtOnce of them
/// travel together. Behind the last one it is loaded again: with a condition on each load, the
/// compiler lets every other one wait for the one before.
template <int kAtOnce, typename Use>
__device__ __forceinline__ void each_value(const float* from, int stride, int count,
                                           const Use& use) {
  for (int first = 0; first < count; first += kAtOnce) {
    float values[kAtOnce];
    NEUROSHARD_UNROLL
    for (int u = 0; u < kAtOnce; ++u) {
      values[u] = from[static_cast<std::int64_t>(std::min(first + u, count - 1)) * stride];
    }
    NEUROSHARD_UNROLL
    for (int u = 0; u < kAtOnce; ++u) {
      if (first + u < count) use(first + u, values[u]);
    }
  }
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

__host__ __device__ inline int sum_blocks(int sums) {
  return (sums + kSumColumns - 1) / kSumColumns;
}

/// The gradient of weights of output `o`, of `block`'s columns.
__device__ __forceinline__ void weight_gradient_sums(const nn::DenseBackward& op, int block,
                                                     std::int64_t o) {
  const std::int64_t k = static_cast<std::int64_t>(block) * kSumColumns + threadIdx.x;
  const bool mine = k < op.spec.inputs;
  float part = 0;
#if defined(__CUDACC__)
#pragma unroll 8
#endif
  for (std::int64_t row = threadIdx.y; mine && row < op.rows; row += kSumParts) {
    part = __fmaf_rn(op.dy[row * op.spec.outputs + o], op.x[row * op.spec.inputs + k], part);
  }
  const float sum = add_parts(part);
  if (mine && threadIdx.y == 0) op.dweight[o * op.spec.inputs + k] = sum;
}

/// The gradient of the biases of `block`'s columns.
__device__ __forceinline__ void bias_gradient_sums(const nn::DenseBackward& op, int block) {
  const std::int64_t o = static_cast<std::int64_t>(block) * kSumColumns + threadIdx.x;
  const bool mine = o < op.spec.outputs;
  float part = 0;
#if defined(__CUDACC__)
#pragma unroll 8
#endif
  for (std::int64_t row = threadIdx.y; mine && row < op.rows; row += kSumParts) {
    part += op.dy[row * op.spec.outputs + o];
  }
  const float sum = add_parts(part);
  if (mine && threadIdx.y == 0) op.dbias[o] = sum;
}

/// The plain form of the weight gradient; blockIdx.y is the output.
__global__ void __launch_bounds__(kSumColumns* kSumParts)
    weight_gradient_kernel(nn::DenseBackward op) {
  weight_gradient_sums(op, static_cast<int>(blockIdx.x), blockIdx.y);
}

/// The plain form of the bias gradient.
__global__ void __launch_bounds__(kSumColumns* kSumParts)
    bias_gradient_kernel(nn::DenseBackward op) {
  bias_gradient_sums(op, static_cast<int>(blockIdx.x));
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

__global__ void store_kernel(StepScalars scalars, StepScalars* to) { *to = scalars; }

/// What Adam has of a parameter. Loaded when made: stores must not come between these loads, which
/// would wait for each other then.
struct AdamValues {
  float m;
  float v;
  float parameter;

  __device__ AdamValues(const nn::Adam& op, std::int64_t i)
      : m(op.m[i]), v(op.v[i]), parameter(op.parameter[i]) {}
};

/// Adam's step of parameter `i` with gradient `g`; the parameter afterwards.
__device__ __forceinline__ float adam_step(const nn::Adam& op, const StepScalars& by,
                                           std::int64_t i, const AdamValues& before, float g) {
  const float m = by.beta1 * before.m + (1 - by.beta1) * g;
  const float v = by.beta2 * before.v + (1 - by.beta2) * g * g;
  op.m[i] = m;
  op.v[i] = v;
  const float shrunk = before.parameter * by.keep;
  const float stepped = shrunk - by.rate * (m * by.m_scale) / (sqrtf(v * by.v_scale) + by.epsilon);
  op.parameter[i] = stepped;
  return stepped;
}

__global__ void adam_kernel(nn::Adam op, const StepScalars* __restrict__ scalars) {
  const std::int64_t i = thread_number();
  if (i < op.count) adam_step(op, *scalars, i, AdamValues(op, i), op.gradient[i]);
}

__device__ __forceinline__ float average_step(const StepScalars& by, float average, float value) {
  return by.keep_average * average + (1 - by.keep_average) * value;
}

__global__ void moving_average_kernel(nn::MovingAverage op,
                                      const StepScalars* __restrict__ scalars) {
  const std::int64_t i = thread_number();
  if (i < op.count) op.average[i] = average_step(*scalars, op.average[i], op.value[i]);
}

/// The end of a step at once: the chunks' gradients added, Adam, the moving average.
__global__ void end_step_kernel(nn::SegmentSum sum, nn::Adam adam, nn::MovingAverage average,
                                const StepScalars* __restrict__ scalars) {
  const std::int64_t i = thread_number();
  if (i >= adam.count) return;
  const AdamValues before(adam, i);
  const float average_before = average.average[i];
  const StepScalars by = *scalars;
  float gradient = 0;
  NEUROSHARD_NO_UNROLL
  for (std::int64_t k = sum.offsets[0]; k < sum.offsets[1]; ++k) {  // a GPU has one chunk
    gradient += sum.x[k * sum.width + i];
  }
  sum.y[i] = gradient;
  const float value = adam_step(adam, by, i, before, gradient);
  average.average[i] = average_step(by, average_before, value);
}

}  // namespace neuroshard::cuda
