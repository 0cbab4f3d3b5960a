#include <immintrin.h>

#include "nn/inference_kernels.h"

// Small dense layers. A tile of rows x vectors of accumulators stays in registers while the inputs
// pass by. Layers with few outputs have few accumulators, and a row alone would wait for each
// addition: so their inputs are summed in kParts stretches, whose sums are added at the end. Which
// stretch an input is in depends on the layer alone, hence a row has the same bits in any batch.
namespace neuroshard::nn::avx512 {
namespace {

constexpr int kLanes = 16;
constexpr int kHalf = 8;           // rows are padded to this
constexpr int kWide = 128;         // outputs that make accumulators enough
constexpr int kParts = 2;          // of layers with fewer
constexpr int kSkipsZeros = 48;    // inputs from which looking for zeros pays
constexpr int kMostListed = 1024;  // inputs in a list

// A stretch of the inputs.
struct Stretch {
  int begin;
  int end;
  bool first;
  bool last;
};

inline int parts_of(const DenseRows& layer) {
  return layer.outputs >= kWide ? 1 : layer.inputs < kParts ? 1 : kParts;
}

inline Stretch stretch_of(const DenseRows& layer, int part, int parts) {
  return {layer.inputs * part / parts, layer.inputs * (part + 1) / parts, part == 0,
          part + 1 == parts};
}

template <bool kTail>
inline __m512 load(const float* from) {
  if constexpr (kTail) return _mm512_maskz_loadu_ps((1U << kHalf) - 1, from);
  return _mm512_loadu_ps(from);
}

template <bool kTail>
inline void store(float* to, __m512 value) {
  if constexpr (kTail) {
    _mm512_mask_storeu_ps(to, (1U << kHalf) - 1, value);
  } else {
    _mm512_storeu_ps(to, value);
  }
}

// In this order NaN stays NaN: of NaN and another, the instruction gives the second.
inline __m512 relu(__m512 value) { return _mm512_max_ps(_mm512_setzero_ps(), value); }

// Adds what a stretch gave to what the stretches before it left in y.
template <bool kTail>
inline void finish(const DenseRows& layer, const Stretch& stretch, float* y, __m512 sum) {
  if (!stretch.first) sum = _mm512_add_ps(load<kTail>(y), sum);
  if (stretch.last && layer.relu) sum = relu(sum);
  store<kTail>(y, sum);
}

// Rows [row, row + kRows) of the columns [column, column + 16 kVectors), or 8 if kTail.
template <int kRows, int kVectors, bool kTail = false>
inline void tile(const DenseRows& layer, const Stretch& stretch, std::int64_t row, int column) {
  __m512 sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const __m512 start =
        stretch.first ? load<kTail>(layer.bias + column + v * kLanes) : _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum[r][v] = start;
  }
  const float* x = layer.x + row * layer.x_stride;
  const float* weight =
      layer.weight + static_cast<std::int64_t>(stretch.begin) * layer.outputs + column;
  for (int i = stretch.begin; i < stretch.end; ++i, weight += layer.outputs) {
    __m512 w[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) w[v] = load<kTail>(weight + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512 value = _mm512_set1_ps(x[r * layer.x_stride + i]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_fmadd_ps(value, w[v], sum[r][v]);
    }
  }
  float* y = layer.y + row * layer.y_stride + column;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      finish<kTail>(layer, stretch, y + r * layer.y_stride + v * kLanes, sum[r][v]);
    }
  }
}

// kRows rows over all columns: tiles of 4 vectors, then of 2, of 1, and the half.
template <int kRows>
inline void rows_of(const DenseRows& layer, std::int64_t row) {
  const int parts = parts_of(layer);
  for (int part = 0; part < parts; ++part) {
    const Stretch stretch = stretch_of(layer, part, parts);
    int column = 0;
    for (; column + 4 * kLanes <= layer.outputs; column += 4 * kLanes) {
      tile<kRows, 4>(layer, stretch, row, column);
    }
    if (column + 2 * kLanes <= layer.outputs) {
      tile<kRows, 2>(layer, stretch, row, column);
      column += 2 * kLanes;
    }
    if (column + kLanes <= layer.outputs) {
      tile<kRows, 1>(layer, stretch, row, column);
      column += kLanes;
    }
    if (column < layer.outputs) tile<kRows, 1, true>(layer, stretch, row, column);
  }
}

// The inputs in [begin, end) that are not zero, in order; returns how many.
inline int list_nonzero(const float* x, int begin, int end, int* list) {
  int count = 0;
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int i = begin; i < end; i += kLanes) {
    const int left = end - i;
    const __mmask16 inside = left < kLanes ? static_cast<__mmask16>((1U << left) - 1) : 0xFFFF;
    const __m512 values = _mm512_maskz_loadu_ps(inside, x + i);
    const __mmask16 found = _mm512_cmp_ps_mask(values, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    const __m512i indices = _mm512_add_epi32(lanes, _mm512_set1_epi32(i));
    _mm512_storeu_si512(list + count, _mm512_maskz_compress_epi32(found, indices));
    count += __builtin_popcount(found);
  }
  return count;
}

// The inputs of a stretch that count.
struct List {
  int inputs[kMostListed + kLanes];
  int count = 0;
};

template <int kVectors, bool kTail>
inline void add_input(const DenseRows& layer, int input, int column, __m512* sum) {
  const float* weight = layer.weight + static_cast<std::int64_t>(input) * layer.outputs + column;
  const __m512 value = _mm512_set1_ps(layer.x[input]);
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    sum[v] = _mm512_fmadd_ps(value, load<kTail>(weight + v * kLanes), sum[v]);
  }
}

// The one row of the layer, the listed inputs only, both stretches at a time.
template <int kVectors, bool kTail = false>
inline void sparse_tile(const DenseRows& layer, const List& first, const List& second, int column) {
  __m512 sum[kVectors];
  __m512 other[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    sum[v] = load<kTail>(layer.bias + column + v * kLanes);
    other[v] = _mm512_setzero_ps();
  }
  const int both = first.count < second.count ? first.count : second.count;
  for (int k = 0; k < both; ++k) {
    add_input<kVectors, kTail>(layer, first.inputs[k], column, sum);
    add_input<kVectors, kTail>(layer, second.inputs[k], column, other);
  }
  for (int k = both; k < first.count; ++k) {
    add_input<kVectors, kTail>(layer, first.inputs[k], column, sum);
  }
  for (int k = both; k < second.count; ++k) {
    add_input<kVectors, kTail>(layer, second.inputs[k], column, other);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    __m512 value = _mm512_add_ps(sum[v], other[v]);
    if (layer.relu) value = relu(value);
    store<kTail>(layer.y + column + v * kLanes, value);
  }
}

// After a ReLU about half of the inputs are zero, and a row alone need not read their weights,
// which come from the second cache. REQUIRES at most kMostListed inputs.
inline void sparse_row(const DenseRows& layer) {
  static_assert(kParts == 2);
  const int middle = stretch_of(layer, 0, parts_of(layer)).end;
  List first;
  List second;
  first.count = list_nonzero(layer.x, 0, middle, first.inputs);
  second.count = list_nonzero(layer.x, middle, layer.inputs, second.inputs);
  int column = 0;
  for (; column + 8 * kLanes <= layer.outputs; column += 8 * kLanes) {
    sparse_tile<8>(layer, first, second, column);
  }
  if (column + 4 * kLanes <= layer.outputs) {
    sparse_tile<4>(layer, first, second, column);
    column += 4 * kLanes;
  }
  if (column + 2 * kLanes <= layer.outputs) {
    sparse_tile<2>(layer, first, second, column);
    column += 2 * kLanes;
  }
  if (column + kLanes <= layer.outputs) {
    sparse_tile<1>(layer, first, second, column);
    column += kLanes;
  }
  if (column < layer.outputs) sparse_tile<1, true>(layer, first, second, column);
}

// The one row of the layer, all inputs.
inline void full_row(const DenseRows& layer) {
  const int parts = parts_of(layer);
  for (int part = 0; part < parts; ++part) {
    const Stretch stretch = stretch_of(layer, part, parts);
    int column = 0;
    for (; column + 8 * kLanes <= layer.outputs; column += 8 * kLanes) {
      tile<1, 8>(layer, stretch, 0, column);
    }
    for (; column + 2 * kLanes <= layer.outputs; column += 2 * kLanes) {
      tile<1, 2>(layer, stretch, 0, column);
    }
    if (column + kLanes <= layer.outputs) {
      tile<1, 1>(layer, stretch, 0, column);
      column += kLanes;
    }
    if (column < layer.outputs) tile<1, 1, true>(layer, stretch, 0, column);
  }
}

inline void one_row(DenseRows layer, std::int64_t row) {
  layer.x += row * layer.x_stride;
  layer.y += row * layer.y_stride;
  if (layer.inputs < kSkipsZeros || layer.inputs > kMostListed) {
    full_row(layer);
  } else {
    sparse_row(layer);
  }
}

}  // namespace

// Six rows at a time; what is left is never a single row, which would cost as much as three.
void dense_packed(DenseRows layer) {
  const std::int64_t rows = layer.rows;
  std::int64_t row = 0;
  for (; rows - row >= 9 || rows - row == 6; row += 6) rows_of<6>(layer, row);
  if (rows - row >= 7) {
    rows_of<4>(layer, row);
    row += 4;
  }
  switch (rows - row) {
    case 5:
      rows_of<5>(layer, row);
      break;
    case 4:
      rows_of<4>(layer, row);
      break;
    case 3:
      rows_of<3>(layer, row);
      break;
    default:
      for (; row < rows; ++row) one_row(layer, row);
  }
}

}  // namespace neuroshard::nn::avx512
