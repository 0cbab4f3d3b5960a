#pragma once

// The weight and bias gradients of many rows: parts of kPartRows rows each, in blocks of their own,
// then the parts are added in order. A block has kTileOutputs outputs and kNarrow or kTileInputs
// inputs, a thread four outputs and every 32nd input; its rows lie in shared memory.

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

/// What a block of a weight gradient works on: blockIdx.x is the part, blockIdx.y the tile, inputs
/// first, then outputs.
struct PartTile {
  std::int64_t begin;  ///< row
  int input;
  int output;

  __device__ PartTile(const nn::DenseSpec& spec, int columns)
      : begin(static_cast<std::int64_t>(blockIdx.x) * kPartRows) {
    const int tiles = (spec.inputs + columns - 1) / columns;
    input = static_cast<int>(blockIdx.y) % tiles * columns;
    output = static_cast<int>(blockIdx.y) / tiles * kTileOutputs;
  }
};

/// Adds up a block's tile over its rows, and stores the sums.
template <int kColumns>
__device__ __forceinline__ void add_tile(const nn::DenseSpec& spec, const PartTile& tile,
                                         const float (*xs)[kColumns],
                                         const float (*dys)[kTileOutputs], float* part) {
  constexpr int kOutputs = 4;
  constexpr int kInputs = kColumns / kLanes;
  const int i = static_cast<int>(threadIdx.x) % kLanes;  // and every 32nd from there on
  const int o = static_cast<int>(threadIdx.x) / kLanes * kOutputs;
  float sum[kOutputs][kInputs] = {};
  float bias[kOutputs] = {};
#if defined(__CUDACC__)
#pragma unroll 4
#endif
  for (int r = 0; r < kPartRows; ++r) {
    NEUROSHARD_UNROLL
    for (int j = 0; j < kOutputs; ++j) bias[j] += dys[r][o + j];
    NEUROSHARD_UNROLL
    for (int k = 0; k < kInputs; ++k) {
      const float x = xs[r][i + k * kLanes];
      NEUROSHARD_UNROLL
      for (int j = 0; j < kOutputs; ++j) sum[j][k] = __fmaf_rn(dys[r][o + j], x, sum[j][k]);
    }
  }
  NEUROSHARD_UNROLL
  for (int j = 0; j < kOutputs; ++j) {
    const std::int64_t output = tile.output + o + j;
    if (output >= spec.outputs) break;
    NEUROSHARD_UNROLL
    for (int k = 0; k < kInputs; ++k) {
      const int input = tile.input + i + k * kLanes;
      if (input < spec.inputs) part[output * spec.inputs + input] = sum[j][k];
    }
    if (tile.input == 0 && i == 0) {
      part[std::int64_t{spec.outputs} * spec.inputs + output] = bias[j];
    }
  }
}

template <int kColumns>
__global__ void __launch_bounds__(kTrainingThreads)
    weight_parts_kernel(nn::DenseBackward op, float* __restrict__ parts) {
  __shared__ float xs[kPartRows][kColumns];
  __shared__ float dys[kPartRows][kTileOutputs];
  const PartTile tile(op.spec, kColumns);
  load_tile(op.x, tile.begin, op.rows, tile.input, op.spec.inputs, xs);
  load_tile(op.dy, tile.begin, op.rows, tile.output, op.spec.outputs, dys);
  __syncthreads();
  add_tile<kColumns>(op.spec, tile, xs, dys, parts + blockIdx.x * part_size(op.spec));
}

/// The same for the layer below `above`, of up to kNarrow inputs and outputs: the gradients that
/// come back through it are worked out on the way, `above.dx` only kept.
__global__ void __launch_bounds__(kTrainingThreads)
    weight_parts_below_kernel(nn::DenseBackward op, nn::DenseBackward above,
                              float* __restrict__ parts) {
  __shared__ float xs[kPartRows][kNarrow];
  __shared__ float dys[kPartRows][kTileOutputs];
  __shared__ float above_dys[kPartRows][kNarrow];
  const PartTile tile(op.spec, kNarrow);
  const int o = static_cast<int>(threadIdx.x) % kTileOutputs;
  const int output = tile.output + o;
  const int outputs = op.spec.outputs;
  float weight[kNarrow];
  NEUROSHARD_UNROLL
  for (int k = 0; k < kNarrow; ++k) {
    const bool there = output < outputs && k < above.spec.outputs;
    weight[k] = there ? above.weight[k * outputs + output] : 0.0F;
  }
  constexpr int kWarps = kTrainingThreads / kTileOutputs;
  constexpr int kEach = kPartRows / kWarps;  // rows, every kWarps-th
  const int warp = static_cast<int>(threadIdx.x) / kTileOutputs;
  const auto row = [&](int j) { return tile.begin + warp + j * kWarps; };
  const auto there = [&](int j) { return row(j) < op.rows && output < outputs; };
  float gate[kEach];
  NEUROSHARD_UNROLL
  for (int j = 0; j < kEach; ++j) gate[j] = there(j) ? above.x[row(j) * outputs + output] : 0.0F;
  load_tile(op.x, tile.begin, op.rows, 0, op.spec.inputs, xs);
  load_tile(above.dy, tile.begin, op.rows, 0, above.spec.outputs, above_dys);
  __syncthreads();
  NEUROSHARD_UNROLL
  for (int j = 0; j < kEach; ++j) {
    float gradient = 0;
    NEUROSHARD_UNROLL
    for (int k = 0; k < kNarrow; ++k) {
      gradient = __fmaf_rn(above_dys[warp + j * kWarps][k], weight[k], gradient);
    }
    if (!(gate[j] > 0)) gradient = 0;
    dys[warp + j * kWarps][o] = gradient;
    if (there(j)) above.dx[row(j) * outputs + output] = gradient;
  }
  __syncthreads();
  add_tile<kNarrow>(op.spec, tile, xs, dys, parts + blockIdx.x * part_size(op.spec));
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
