#pragma once

// The weight and bias gradients of many rows: parts of kPartRows rows each, in blocks of their own,
// then the parts are added in order. A block has kTileOutputs x kTileInputs sums, a thread four of
// each; its rows lie in shared memory.

#include "cuda/training/training_kernels.cuh"

namespace neuroshard::cuda {

inline constexpr int kPartRows = 64;
inline constexpr int kTileOutputs = 32;
inline constexpr int kTileInputs = 128;
/// Parts that are added at once: few threads do it, each of them waits as often as there are these.
inline constexpr int kPartsAtOnce = 32;

/// Values of a part: weights, then biases.
__host__ __device__ inline std::int64_t part_size(const nn::DenseSpec& spec) {
  return std::int64_t{spec.outputs} * (spec.inputs + 1);
}

/// Copies rows [row, row + kPartRows) of a matrix, columns [first, first + kColumns), to `tile`;
/// zeros where there are none.
template <int kColumns>
__device__ __forceinline__ void load_tile(const float* matrix, std::int64_t row, std::int64_t rows,
                                          int first, int columns, float (*tile)[kColumns]) {
#if defined(__CUDACC__)
#pragma unroll 8
#endif
  for (int i = static_cast<int>(threadIdx.x); i < kPartRows * kColumns; i += kTrainingThreads) {
    const int r = i / kColumns;
    const int c = i % kColumns;
    const bool there = row + r < rows && first + c < columns;
    tile[r][c] = there ? matrix[(row + r) * columns + first + c] : 0.0F;
  }
}

/// blockIdx.x is the part, blockIdx.y the tile: inputs first, then outputs.
__global__ void __launch_bounds__(kTrainingThreads)
    weight_parts_kernel(nn::DenseBackward op, float* __restrict__ parts) {
  __shared__ float xs[kPartRows][kTileInputs];
  __shared__ float dys[kPartRows][kTileOutputs];
  constexpr int kEach = 4;
  const int inputs = op.spec.inputs;
  const int outputs = op.spec.outputs;
  const int tiles = (inputs + kTileInputs - 1) / kTileInputs;
  const int first_input = static_cast<int>(blockIdx.y) % tiles * kTileInputs;
  const int first_output = static_cast<int>(blockIdx.y) / tiles * kTileOutputs;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPartRows;
  const int i = static_cast<int>(threadIdx.x) % kLanes;  // and every 32nd from there on
  const int o = static_cast<int>(threadIdx.x) / kLanes * kEach;
  const int reach = (inputs - first_input + kLanes - 1) / kLanes;  // narrow layers need one
  float sum[kEach][kEach] = {};
  float bias[kEach] = {};
  load_tile(op.x, begin, op.rows, first_input, inputs, xs);
  load_tile(op.dy, begin, op.rows, first_output, outputs, dys);
  __syncthreads();
#if defined(__CUDACC__)
#pragma unroll 4
#endif
  for (int r = 0; r < kPartRows; ++r) {
    for (int j = 0; j < kEach; ++j) bias[j] += dys[r][o + j];
    for (int k = 0; k < kEach; ++k) {
      if (k >= reach) break;  // the same for the whole block
      const float x = xs[r][i + k * kLanes];
      for (int j = 0; j < kEach; ++j) sum[j][k] = __fmaf_rn(dys[r][o + j], x, sum[j][k]);
    }
  }
  float* const part = parts + blockIdx.x * part_size(op.spec);
  for (int j = 0; j < kEach; ++j) {
    const std::int64_t output = first_output + o + j;
    if (output >= outputs) break;
    for (int k = 0; k < kEach; ++k) {
      const int input = first_input + i + k * kLanes;
      if (input < inputs) part[output * inputs + input] = sum[j][k];
    }
    if (first_input == 0 && i == 0) part[std::int64_t{outputs} * inputs + output] = bias[j];
  }
}

__global__ void add_weight_parts_kernel(nn::DenseBackward op, const float* __restrict__ parts) {
  const std::int64_t i = thread_number();
  const std::int64_t size = part_size(op.spec);
  if (i >= size) return;
  float sum = 0;
  each_value<kPartsAtOnce>(parts + i, static_cast<int>(size),
                           static_cast<int>((op.rows + kPartRows - 1) / kPartRows),
                           [&](int, float part) { sum += part; });
  const std::int64_t weights = std::int64_t{op.spec.outputs} * op.spec.inputs;
  (i < weights ? op.dweight[i] : op.dbias[i - weights]) = sum;
}

}  // namespace neuroshard::cuda
