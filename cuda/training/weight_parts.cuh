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

/// Rows [row, row + kRows) of a matrix, columns [first, first + kColumns), on their way to
/// shared memory: zeros where there are none. Loaded when made, so that other loads can follow
/// before the first one has come.
template <int kRows, int kColumns>
class TravellingTile {
 public:
  static constexpr int kEach = kRows * kColumns / kTrainingThreads;

  __device__ TravellingTile(const float* matrix, std::int64_t first_row, std::int64_t rows,
                            int first, int columns) {
    const float* const from = matrix + first_row * columns + first;
    NEUROSHARD_UNROLL
    for (int j = 0; j < kEach; ++j) {
      const bool there = row(j) < rows - first_row && first + column(j) < columns;
      value_[j] = there ? from[row(j) * columns + column(j)] : 0.0F;
    }
  }
  __device__ void store(float (*tile)[kColumns]) const {
    NEUROSHARD_UNROLL
    for (int j = 0; j < kEach; ++j) tile[row(j)][column(j)] = value_[j];
  }
  /// The thread's value j: what it is, and where in the tile.
  __device__ float operator[](int j) const { return value_[j]; }
  static __device__ int row(int j) { return place(j) / kColumns; }
  static __device__ int column(int j) { return place(j) % kColumns; }

 private:
  static __device__ int place(int j) {
    return static_cast<int>(threadIdx.x) + j * kTrainingThreads;
  }

  float value_[kEach];
};

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
  const TravellingTile<kPartRows, kColumns> x(op.x, tile.begin, op.rows, tile.input,
                                              op.spec.inputs);
  const TravellingTile<kPartRows, kTileOutputs> dy(op.dy, tile.begin, op.rows, tile.output,
                                                   op.spec.outputs);
  x.store(xs);
  dy.store(dys);
  __syncthreads();
  add_tile<kColumns>(op.spec, tile, xs, dys, parts + blockIdx.x * part_size(op.spec));
}

/// Shared memory of a block that adds up a part of two layers.
struct PartMemory {
  float xs[kPartRows][kNarrow];
  float dys[kPartRows][kTileOutputs];
  alignas(16) float above_dys[kPartRows][kNarrow];
  float weights[kNarrow][kTileOutputs];
};

/// The same of the layer below `above`, of up to kNarrow inputs and outputs: the gradients that
/// come back through it are worked out on the way, `above.dx` only kept.
__device__ __forceinline__ void add_part_below(const nn::DenseBackward& op,
                                               const nn::DenseBackward& above, const PartTile& tile,
                                               PartMemory& memory, float* parts) {
  const int outputs = op.spec.outputs;
  using Outputs = TravellingTile<kPartRows, kTileOutputs>;
  using Narrow = TravellingTile<kPartRows, kNarrow>;
  const TravellingTile<kNarrow, kTileOutputs> weights(above.weight, 0, above.spec.outputs,
                                                      tile.output, outputs);
  const Narrow dy(above.dy, tile.begin, op.rows, 0, above.spec.outputs);
  const Narrow x(op.x, tile.begin, op.rows, 0, op.spec.inputs);
  const Outputs gate(above.x, tile.begin, op.rows, tile.output, outputs);
  weights.store(memory.weights);
  dy.store(memory.above_dys);
  x.store(memory.xs);
  __syncthreads();
  const int o = Outputs::column(0);  // of all the thread's values
  float gradient[Outputs::kEach] = {};
  NEUROSHARD_UNROLL
  for (int k = 0; k < kNarrow; k += 4) {
    float weight[4];
    NEUROSHARD_UNROLL
    for (int u = 0; u < 4; ++u) weight[u] = memory.weights[k + u][o];
    NEUROSHARD_UNROLL
    for (int j = 0; j < Outputs::kEach; ++j) {
      const float4 dys = *reinterpret_cast<const float4*>(&memory.above_dys[Outputs::row(j)][k]);
      gradient[j] = __fmaf_rn(dys.x, weight[0], gradient[j]);
      gradient[j] = __fmaf_rn(dys.y, weight[1], gradient[j]);
      gradient[j] = __fmaf_rn(dys.z, weight[2], gradient[j]);
      gradient[j] = __fmaf_rn(dys.w, weight[3], gradient[j]);
    }
  }
  float* const dx = above.dx + tile.begin * outputs + tile.output;
  NEUROSHARD_UNROLL
  for (int j = 0; j < Outputs::kEach; ++j) {
    const int r = Outputs::row(j);
    const float value = gate[j] > 0 ? gradient[j] : 0.0F;
    memory.dys[r][o] = value;
    if (r < op.rows - tile.begin && tile.output + o < outputs) dx[r * outputs + o] = value;
  }
  __syncthreads();
  add_tile<kNarrow>(op.spec, tile, memory.xs, memory.dys, parts + blockIdx.x * part_size(op.spec));
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
/// first, and so are the parts. Three blocks a multiprocessor hold a batch of 512 sets in two
/// rounds.
__global__ void __launch_bounds__(kTrainingThreads, 3)
    weight_parts_of_two_kernel(nn::DenseBackward below, nn::DenseBackward above,
                               float* __restrict__ parts) {
  __shared__ PartMemory memory;
  const auto tile = static_cast<int>(blockIdx.y);
  const int tiles_below = tiles_of(below.spec, kNarrow);
  if (tile < tiles_below) {
    add_part_below(below, above, PartTile(below.spec, kNarrow, tile), memory, parts);
  } else {
    add_part<kNarrow>(above, PartTile(above.spec, kNarrow, tile - tiles_below), memory.xs,
                      memory.dys, parts + gridDim.x * part_size(below.spec));
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
