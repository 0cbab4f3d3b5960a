#pragma once

// The encoder of a set network at once: a block takes its rows from the features through both
// layers.

#include "cuda/training/set_encoder.h"
#include "cuda/training/training_kernels.cuh"
#include "cuda/training/travelling_weights.cuh"

namespace neuroshard::cuda {

inline constexpr int kEncoderRows = 32;  ///< of a block
/// Rows that a thread takes through the first layer, side by side, and through the second.
inline constexpr int kHiddenRows = kEncoderRows * kEncoderHidden / kTrainingThreads;
inline constexpr int kOutputRows = kEncoderRows * kNarrow / kTrainingThreads;

// In shared memory; a column or four more keep the threads of a warp in different banks.
using EncoderInputs = float[kNarrow][kEncoderRows + 4];  ///< by column: a thread reads four rows
using EncoderHidden = float[kEncoderRows][kEncoderHidden + 4];
inline constexpr int kHiddenStride =
    kEncoderHidden + 1;                            ///< of the first layer's weights, by input
inline constexpr int kOutputStride = kNarrow + 1;  ///< of the second layer's
inline constexpr int kEncoderWeights =
    std::max(kNarrow * kHiddenStride, kEncoderHidden* kOutputStride);

__device__ __forceinline__ float rectified(float value) { return !(value > 0) ? 0 : value; }

/// Copies the block's rows to where the operation wants them, and to shared memory; zeros behind
/// the last one.
__device__ __forceinline__ void gather_rows(const nn::GatherRows& op, std::int64_t begin,
                                            EncoderInputs& xs) {
  constexpr int kEach = kEncoderRows * kNarrow / kTrainingThreads;
  const int column = static_cast<int>(threadIdx.x) % kNarrow;
  const auto row = [](int j) {
    return (static_cast<int>(threadIdx.x) + j * kTrainingThreads) / kNarrow;
  };
  float value[kEach];
  NEUROSHARD_UNROLL
  for (int j = 0; j < kEach; ++j) {
    const bool there = begin + row(j) < op.rows && column < op.width;
    value[j] = there ? op.table[std::int64_t{op.index[begin + row(j)]} * op.width + column] : 0.0F;
  }
  NEUROSHARD_UNROLL
  for (int j = 0; j < kEach; ++j) {
    xs[column][row(j)] = value[j];
    const std::int64_t at = begin + row(j);
    if (at < op.rows && column < op.width) op.out[at * op.width + column] = value[j];
  }
}

/// The first layer: a thread has one output of kHiddenRows rows.
__device__ __forceinline__ void encode_hidden(const nn::DenseForward& op, std::int64_t begin,
                                              const EncoderInputs& xs, const float* weights,
                                              EncoderHidden& hs) {
  const int o = static_cast<int>(threadIdx.x) % kEncoderHidden;
  const int first = static_cast<int>(threadIdx.x) / kEncoderHidden * kHiddenRows;
  const bool there = o < op.spec.outputs;
  const float bias = there ? op.bias[o] : 0.0F;
  float sum[kHiddenRows] = {};
#if defined(__CUDACC__)
#pragma unroll 4
#endif
  for (int k = 0; k < op.spec.inputs; ++k) {
    const float weight = weights[k * kHiddenStride + o];
    NEUROSHARD_UNROLL
    for (int r = 0; r < kHiddenRows; r += 4) {
      const float4 x = *reinterpret_cast<const float4*>(&xs[k][first + r]);
      sum[r] = __fmaf_rn(x.x, weight, sum[r]);
      sum[r + 1] = __fmaf_rn(x.y, weight, sum[r + 1]);
      sum[r + 2] = __fmaf_rn(x.z, weight, sum[r + 2]);
      sum[r + 3] = __fmaf_rn(x.w, weight, sum[r + 3]);
    }
  }
  NEUROSHARD_UNROLL
  for (int r = 0; r < kHiddenRows; ++r) {
    const float value = rectified(sum[r] + bias);
    hs[first + r][o] = value;
    const std::int64_t row = begin + first + r;
    if (there && row < op.rows) op.y[row * op.spec.outputs + o] = value;
  }
}

/// The second layer: a thread has one output of every eighth row.
__device__ __forceinline__ void encode_output(const nn::DenseForward& op, std::int64_t begin,
                                              const EncoderHidden& hs, const float* weights) {
  constexpr int kStep = kEncoderRows / kOutputRows;
  const int o = static_cast<int>(threadIdx.x) % kNarrow;
  const int first = static_cast<int>(threadIdx.x) / kNarrow;
  if (o >= op.spec.outputs) return;
  const float bias = op.bias[o];
  float sum[kOutputRows] = {};
#if defined(__CUDACC__)
#pragma unroll 4
#endif
  for (int k = 0; k < op.spec.inputs; k += 4) {  // behind the last one: zeros
    float weight[4];
    NEUROSHARD_UNROLL
    for (int u = 0; u < 4; ++u) weight[u] = weights[(k + u) * kOutputStride + o];
    NEUROSHARD_UNROLL
    for (int j = 0; j < kOutputRows; ++j) {
      const float4 x = *reinterpret_cast<const float4*>(&hs[first + j * kStep][k]);
      sum[j] = __fmaf_rn(x.x, weight[0], sum[j]);
      sum[j] = __fmaf_rn(x.y, weight[1], sum[j]);
      sum[j] = __fmaf_rn(x.z, weight[2], sum[j]);
      sum[j] = __fmaf_rn(x.w, weight[3], sum[j]);
    }
  }
  NEUROSHARD_UNROLL
  for (int j = 0; j < kOutputRows; ++j) {
    const std::int64_t row = begin + first + j * kStep;
    if (row < op.rows) op.y[row * op.spec.outputs + o] = rectified(sum[j] + bias);
  }
}

__global__ void __launch_bounds__(kTrainingThreads) set_encoder_kernel(SetEncoder encoder) {
  alignas(16) __shared__ EncoderInputs xs;
  alignas(16) __shared__ EncoderHidden hs;
  __shared__ float weights[kEncoderWeights];  // of one layer after the other
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kEncoderRows;
  const TravellingWeights<kNarrow, kEncoderHidden, kTrainingThreads> first(encoder.hidden);
  const TravellingWeights<kEncoderHidden, kNarrow, kTrainingThreads> second(encoder.output);
  gather_rows(encoder.gather, begin, xs);
  first.store(weights, kHiddenStride);
  __syncthreads();
  encode_hidden(encoder.hidden, begin, xs, weights, hs);
  __syncthreads();
  second.store(weights, kOutputStride);
  __syncthreads();
  encode_output(encoder.output, begin, hs, weights);
}

}  // namespace neuroshard::cuda
