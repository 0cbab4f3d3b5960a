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

__host__ __device__ inline int tiles_of(int values, int of_tile) {
  return (values + of_tile - 1) / of_tile;
}

/// Tiles of a layer with so many inputs each.
__host__ __device__ inline int tiles_of(const nn::DenseSpec& spec, int inputs) {
  return tiles_of(spec.inputs, inputs) * tiles_of(spec.outputs, kTileOutputs);
}

/// What a block of a weight gradient works on: part blockIdx.x, and a tile of tiles_of.
struct PartTile {
  std::int64_t begin;  ///< row
  int input;
  int output;

  __device__ PartTile(const nn::DenseSpec& spec, int inputs, int tile)
      : begin(static_cast<std::int64_t>(blockIdx.x) * kPartRows) {
    const int across = tiles_of(spec.inputs, inputs);
    input = tile % across * inputs;
    output = tile / across * kTileOutputs;
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

/// A tile of a layer's part. Called by the whole block.
template <int kColumns>
__device__ __forceinline__ void add_part(const nn::DenseBackward& op, const PartTile& tile,
                                         float (*xs)[kColumns], float (*dys)[kTileOutputs],
                                         float* parts) {
  load_tile(op.x, tile.begin, op.rows, tile.input, op.spec.inputs, xs);
  load_tile(op.dy, tile.begin, op.rows, tile.output, op.spec.outputs, dys);
  __syncthreads();
  add_tile<kColumns>(op.spec, tile, xs, dys, parts + blockIdx.x * part_size(op.spec));
}

/// The same of the layer below `above`, of up to kNarrow inputs and outputs: the gradients that
/// come back through it are worked out on the way, `above.dx` only kept. `held` is memory for it.
__device__ __forceinline__ void add_part_below(const nn::DenseBackward& op,
                                               const nn::DenseBackward& above, const PartTile& tile,
                                               float (*xs)[kNarrow], float (*dys)[kTileOutputs],
                                               float (*held)[kNarrow], float* parts) {
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
  load_tile(above.dy, tile.begin, op.rows, 0, above.spec.outputs, held);
  __syncthreads();
  NEUROSHARD_UNROLL
  for (int j = 0; j < kEach; ++j) {
    float gradient = 0;
    NEUROSHARD_UNROLL
    for (int k = 0; k < kNarrow; ++k) {
      gradient = __fmaf_rn(held[warp + j * kWarps][k], weight[k], gradient);
    }
    if (!(gate[j] > 0)) gradient = 0;
    dys[warp + j * kWarps][o] = gradient;
    if (there(j)) above.dx[row(j) * outputs + output] = gradient;
  }
  __syncthreads();
  add_tile<kNarrow>(op.spec, tile, xs, dys, parts + blockIdx.x * part_size(op.spec));
}

/// blockIdx.y is the tile.
template <int kColumns>
__global__ void __launch_bounds__(kTrainingThreads)
    weight_parts_kernel(nn::DenseBackward op, float* __restrict__ parts) {
  __shared__ float xs[kPartRows][kColumns];
  __shared__ float dys[kPartRows][kTileOutputs];
  const PartTile tile(op.spec, kColumns, static_cast<int>(blockIdx.y));
  add_part<kColumns>(op, tile, xs, dys, parts);
}

/// Both layers that OpList::ends_below is about; blockIdx.y is the tile, those of the one below
/// first, and so are the parts.
__global__ void __launch_bounds__(kTrainingThreads)
    weight_parts_of_two_kernel(nn::DenseBackward below, nn::DenseBackward above,
                               float* __restrict__ parts) {
  __shared__ float xs[kPartRows][kNarrow];
  __shared__ float dys[kPartRows][kTileOutputs];
  __shared__ float held[kPartRows][kNarrow];
  const auto tile = static_cast<int>(blockIdx.y);
  const int tiles_below = tiles_of(below.spec, kNarrow);
  if (tile < tiles_below) {
    add_part_below(below, above, PartTile(below.spec, kNarrow, tile), xs, dys, held, parts);
  } else {
    add_part<kNarrow>(above, PartTile(above.spec, kNarrow, tile - tiles_below), xs, dys,
                      parts + gridDim.x * part_size(below.spec));
  }
}

__host__ __device__ inline std::int64_t parts_of(const nn::DenseBackward& op) {
  return (op.rows + kPartRows - 1) / kPartRows;
}

/// Value `i` of a layer's gradients.
__device__ __forceinline__ void add_weight_parts(const nn::DenseBackward& op, const float* parts,
                                                 std::int64_t i) {
  float sum = 0;
  each_value<kPartsAtOnce>(parts + i, static_cast<int>(part_size(op.spec)),
                           static_cast<int>(parts_of(op)), [&](int, float part) { sum += part; });
  const std::int64_t weights = std::int64_t{op.spec.outputs} * op.spec.inputs;
  (i < weights ? op.dweight[i] : op.dbias[i - weights]) = sum;
}

__global__ void add_weight_parts_kernel(nn::DenseBackward op, const float* __restrict__ parts) {
  const std::int64_t i = thread_number();
  if (i < part_size(op.spec)) add_weight_parts(op, parts, i);
}

/// What weight_parts_of_two_kernel has left.
__global__ void add_weight_parts_of_two_kernel(nn::DenseBackward below, nn::DenseBackward above,
                                               const float* __restrict__ parts) {
  const std::int64_t i = thread_number();
  const std::int64_t size = part_size(below.spec);
  if (i < size) {
    add_weight_parts(below, parts, i);
  } else if (i < size + part_size(above.spec)) {
    add_weight_parts(above, parts + parts_of(below) * size, i - size);
  }
}

}  // namespace neuroshard::cuda
