#include "nn/gemm_avx2.h"

#include <immintrin.h>

// One register tile serves the three products of a dense layer. It computes up to 6 rows x 16
// columns of C = A B: 12 accumulators, 2 vectors of B and 1 broadcast of A fill the 16 registers.
// A is read one value at a time with any strides; B needs adjacent columns.
namespace neuroshard::nn::avx2 {
namespace {

using Index = std::int64_t;

constexpr int kTileRows = 6;
constexpr int kLanes = 8;
constexpr int kTileColumns = 2 * kLanes;

// Element (i, p) of A is data[i * row + p * depth].
struct Strided {
  const float* data;
  Index row;
  Index depth;
};

// Lanes below `count` on: a maskload or maskstore then touches only them.
inline __m256i lane_mask(int count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lanes);
}

// The columns of one tile: all of them, or the last one cut off by `mask`.
template <bool kCut>
struct Columns {
  __m256i mask;
  template <int kVectors>
  [[nodiscard]] __m256 load(const float* from, int v) const {
    if (kCut && v == kVectors - 1) return _mm256_maskload_ps(from + v * kLanes, mask);
    return _mm256_loadu_ps(from + v * kLanes);
  }
  template <int kVectors>
  void store(float* to, int v, __m256 value) const {
    if (kCut && v == kVectors - 1) {
      _mm256_maskstore_ps(to + v * kLanes, mask, value);
    } else {
      _mm256_storeu_ps(to + v * kLanes, value);
    }
  }
};

// C tile from (row, column): `finish.store` gets each accumulated vector.
template <int kRows, int kVectors, bool kCut, typename Finish>
inline void tile(Index depth, Strided a, const float* b, Index b_stride, Columns<kCut> columns,
                 const Finish& finish, Index row, Index column) {
  __m256 sum[kRows][kVectors];
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[i][v] = _mm256_setzero_ps();
  }
  for (Index p = 0; p < depth; ++p) {
    __m256 bv[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) bv[v] = columns.template load<kVectors>(b, v);
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) {
      const __m256 av = _mm256_broadcast_ss(a.data + i * a.row);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[i][v] = _mm256_fmadd_ps(av, bv[v], sum[i][v]);
    }
    a.data += a.depth;
    b += b_stride;
  }
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      finish.template store<kVectors>(row + i, column, v, sum[i][v], columns);
    }
  }
}

// All rows of one column block. Rows are dealt out evenly (20 = 5 + 5 + 5 + 5, not 6 + 6 + 6 + 2):
// short tiles cannot hide the latency of their additions.
template <int kVectors, bool kCut, typename Finish>
inline void column_block(Index rows, Index depth, const Strided& a, const float* b, Index b_stride,
                         Columns<kCut> columns, const Finish& finish, Index column) {
  const Index blocks = (rows + kTileRows - 1) / kTileRows;
  for (Index k = 0, row = 0; k < blocks; ++k) {
    const Index size = rows / blocks + (k < rows % blocks ? 1 : 0);
    const Strided part{a.data + row * a.row, a.row, a.depth};
    switch (size) {
      case 6:
        tile<6, kVectors>(depth, part, b, b_stride, columns, finish, row, column);
        break;
      case 5:
        tile<5, kVectors>(depth, part, b, b_stride, columns, finish, row, column);
        break;
      case 4:
        tile<4, kVectors>(depth, part, b, b_stride, columns, finish, row, column);
        break;
      case 3:
        tile<3, kVectors>(depth, part, b, b_stride, columns, finish, row, column);
        break;
      case 2:
        tile<2, kVectors>(depth, part, b, b_stride, columns, finish, row, column);
        break;
      default:
        tile<1, kVectors>(depth, part, b, b_stride, columns, finish, row, column);
        break;
    }
    row += size;
  }
}

// `width` columns of C from `column` on, 1 <= width <= kTileColumns.
template <typename Finish>
inline void columns_of(Index rows, Index depth, const Strided& a, const float* b, Index b_stride,
                       Index column, int width, const Finish& finish) {
  const Columns<true> cut{lane_mask(width <= kLanes ? width : width - kLanes)};
  if (width == kTileColumns) {
    column_block<2>(rows, depth, a, b, b_stride, Columns<false>{}, finish, column);
  } else if (width > kLanes) {
    column_block<2>(rows, depth, a, b, b_stride, cut, finish, column);
  } else if (width == kLanes) {
    column_block<1>(rows, depth, a, b, b_stride, Columns<false>{}, finish, column);
  } else {
    column_block<1>(rows, depth, a, b, b_stride, cut, finish, column);
  }
}

inline int block_width(Index columns, Index column) {
  return columns - column < kTileColumns ? static_cast<int>(columns - column) : kTileColumns;
}

// C = A B + bias, through an optional ReLU.
struct StoreOutput {
  float* y;
  Index stride;
  const float* start;  // added: the bias, or (start_stride > 0) the sum of earlier depth blocks
  Index start_stride;
  bool relu;

  template <int kVectors, bool kCut>
  void store(Index row, Index column, int v, __m256 sum, Columns<kCut> columns) const {
    const float* from = start + row * start_stride + column;
    sum = _mm256_add_ps(sum, columns.template load<kVectors>(from, v));
    if (relu) sum = _mm256_max_ps(_mm256_setzero_ps(), sum);  // of NaN: the second, NaN
    columns.template store<kVectors>(y + row * stride + column, v, sum);
  }
};

// C = A B where the gate is positive, else 0.
struct StoreGated {
  float* dx;
  const float* gate;
  Index stride;

  template <int kVectors, bool kCut>
  void store(Index row, Index column, int v, __m256 sum, Columns<kCut> columns) const {
    const Index at = row * stride + column;
    if (gate != nullptr) {
      const __m256 open = _mm256_cmp_ps(columns.template load<kVectors>(gate + at, v),
                                        _mm256_setzero_ps(), _CMP_GT_OQ);
      sum = _mm256_and_ps(sum, open);
    }
    columns.template store<kVectors>(dx + at, v, sum);
  }
};

// C = A B.
struct StoreSum {
  float* c;
  Index stride;

  template <int kVectors, bool kCut>
  void store(Index row, Index column, int v, __m256 sum, Columns<kCut> columns) const {
    columns.template store<kVectors>(c + row * stride + column, v, sum);
  }
};

// C^T = A B: element (row, column) of the tile goes to c[column * stride + row]. Its store is
// not inlined: 96 times in the tiles, it was 140 KB of code and most of the file's compile time.
struct StoreTransposed {
  float* c;
  Index stride;
  Index columns_end;

  template <int kVectors, bool kCut>
  [[gnu::noinline]] void store(Index row, Index column, int v, __m256 sum, Columns<kCut>) const {
    alignas(32) float values[kLanes];
    _mm256_store_ps(values, sum);
    const Index first = column + v * kLanes;
    const Index count = columns_end - first < kLanes ? columns_end - first : kLanes;
    for (Index j = 0; j < count; ++j) c[(first + j) * stride + row] = values[j];
  }
};

// Depth handled at once when weights are transposed on the stack: 16 KiB.
constexpr Index kDepthBlock = 256;

// panel[p][j] = weight[(column + j), depth_begin + p], zero beyond `width`.
inline void transpose_panel(const float* weight, Index stride, Index depth, int width,
                            float* panel) {
  for (int j = 0; j < kTileColumns; ++j) {
    if (j < width) {
      const float* from = weight + j * stride;
      for (Index p = 0; p < depth; ++p) panel[p * kTileColumns + j] = from[p];
    } else {
      for (Index p = 0; p < depth; ++p) panel[p * kTileColumns + j] = 0.0f;
    }
  }
}

}  // namespace

void dense_forward(Index rows, int inputs, int outputs, const float* x, const float* weight,
                   const float* bias, bool relu, float* y) {
  alignas(32) float panel[kDepthBlock * kTileColumns];
  for (Index column = 0; column < outputs; column += kTileColumns) {
    const int width = block_width(outputs, column);
    for (Index begin = 0; begin < inputs; begin += kDepthBlock) {
      const Index depth = inputs - begin < kDepthBlock ? inputs - begin : kDepthBlock;
      transpose_panel(weight + column * inputs + begin, inputs, depth, width, panel);
      const bool first = begin == 0;
      const bool last = begin + depth == inputs;
      const StoreOutput finish{y, outputs, first ? bias : y, first ? 0 : Index{outputs},
                               relu && last};
      columns_of(rows, depth, {x + begin, inputs, 1}, panel, kTileColumns, column, width, finish);
    }
  }
}

void dense_input_gradient(Index rows, int inputs, int outputs, const float* dy, const float* weight,
                          const float* gate, float* dx) {
  const StoreGated finish{dx, gate, inputs};
  for (Index column = 0; column < inputs; column += kTileColumns) {
    columns_of(rows, outputs, {dy, outputs, 1}, weight + column, inputs, column,
               block_width(inputs, column), finish);
  }
}

void dense_weight_gradient(Index rows, int inputs, int outputs, const float* dy, const float* x,
                           float* dweight) {
  // The vector lanes run along the side that wastes fewer of them.
  const Index along_inputs = Index{(inputs + kLanes - 1) / kLanes} * outputs;
  const Index along_outputs = Index{(outputs + kLanes - 1) / kLanes} * inputs;
  const bool transposed = along_outputs < along_inputs;
  const int a_width = transposed ? inputs : outputs;
  const int b_width = transposed ? outputs : inputs;
  const Strided a{transposed ? x : dy, 1, a_width};
  const float* b = transposed ? dy : x;
  for (Index column = 0; column < b_width; column += kTileColumns) {
    const int width = block_width(b_width, column);
    if (transposed) {
      columns_of(a_width, rows, a, b + column, b_width, column, width,
                 StoreTransposed{dweight, inputs, outputs});
    } else {
      columns_of(a_width, rows, a, b + column, b_width, column, width, StoreSum{dweight, inputs});
    }
  }
}

}  // namespace neuroshard::nn::avx2
