// AVX2 + FMA variants. Columns are worked on in tiles of up to eight vectors that stay in registers
// over all rows of a bag or run; a tile's tail of fewer than eight floats is masked. The additions
// are those of the scalar reference in the same order, so sums agree bit for bit; the update's
// multiply-subtract is fused, which rounds once instead of twice.
#include "engine/ground_truth/cpu/kernels_avx2.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>

namespace neuroshard {
namespace {

constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kTile = 64;  // columns: eight accumulators

__m256i tail_mask(std::int64_t columns) {
  alignas(32) static constexpr std::int32_t kOnes[16] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                         0,  0,  0,  0,  0,  0,  0,  0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnes + kLanes - columns));
}

/// V full vectors of columns, and a masked one when Tail.
template <int V, bool Tail>
struct Columns {
  __m256 full[V > 0 ? V : 1];
  __m256 tail;

  void clear() {
    for (int v = 0; v < V; ++v) full[v] = _mm256_setzero_ps();
    if constexpr (Tail) tail = _mm256_setzero_ps();
  }
  void add(const float* row, __m256i mask) {
    for (int v = 0; v < V; ++v) full[v] = _mm256_add_ps(full[v], _mm256_loadu_ps(row + v * kLanes));
    if constexpr (Tail) {
      tail = _mm256_add_ps(tail, _mm256_maskload_ps(row + V * kLanes, mask));
    }
  }
  void store(float* out, __m256i mask) const {
    for (int v = 0; v < V; ++v) _mm256_storeu_ps(out + v * kLanes, full[v]);
    if constexpr (Tail) _mm256_maskstore_ps(out + V * kLanes, mask, tail);
  }
  /// weights -= step * columns.
  void subtract_from(float* weights, __m256 step, __m256i mask) const {
    for (int v = 0; v < V; ++v) {
      float* w = weights + v * kLanes;
      _mm256_storeu_ps(w, _mm256_fnmadd_ps(step, full[v], _mm256_loadu_ps(w)));
    }
    if constexpr (Tail) {
      float* w = weights + V * kLanes;
      _mm256_maskstore_ps(w, mask, _mm256_fnmadd_ps(step, tail, _mm256_maskload_ps(w, mask)));
    }
  }
};

void prefetch_row(const float* row, std::int64_t dim) {
  for (std::int64_t c = 0; c < dim; c += 16) _mm_prefetch(row + c, _MM_HINT_T0);
}

template <int V, bool Tail>
void pool_tile(const BagBlock& block, std::int64_t column, std::int64_t columns) {
  const __m256i mask = tail_mask(columns % kLanes);
  const std::int64_t distance = prefetch_distance(block.dim);
  const float* weights = block.weights + column;
  for (std::int64_t bag = block.begin; bag < block.end; ++bag) {
    Columns<V, Tail> sum;
    sum.clear();
    const std::int64_t end = block.offsets[bag + 1];
    for (std::int64_t i = block.offsets[bag]; i < end; ++i) {
      const std::int64_t ahead = std::min(i + distance, block.lookups - 1);
      prefetch_row(weights + block.indices[ahead] * block.dim, columns);
      sum.add(weights + block.indices[i] * block.dim, mask);
    }
    sum.store(block.out + bag * block.out_stride + column, mask);
  }
}

/// Calls Body::run<V, Tail>(column, columns) for the tiles that cover `dim` columns.
template <typename Body>
void for_each_tile(std::int64_t dim, const Body& body) {
  std::int64_t column = 0;
  for (; column + kTile <= dim; column += kTile) body.template run<8, false>(column, kTile);
  const std::int64_t rest = dim - column;
  if (rest == 0) return;
  switch (rest / kLanes * 2 + (rest % kLanes != 0)) {
    case 1:
      return body.template run<0, true>(column, rest);
    case 2:
      return body.template run<1, false>(column, rest);
    case 3:
      return body.template run<1, true>(column, rest);
    case 4:
      return body.template run<2, false>(column, rest);
    case 5:
      return body.template run<2, true>(column, rest);
    case 6:
      return body.template run<3, false>(column, rest);
    case 7:
      return body.template run<3, true>(column, rest);
    case 8:
      return body.template run<4, false>(column, rest);
    case 9:
      return body.template run<4, true>(column, rest);
    case 10:
      return body.template run<5, false>(column, rest);
    case 11:
      return body.template run<5, true>(column, rest);
    case 12:
      return body.template run<6, false>(column, rest);
    case 13:
      return body.template run<6, true>(column, rest);
    case 14:
      return body.template run<7, false>(column, rest);
    default:
      return body.template run<7, true>(column, rest);
  }
}

struct PoolBags {
  const BagBlock& block;
  template <int V, bool Tail>
  void run(std::int64_t column, std::int64_t columns) const {
    pool_tile<V, Tail>(block, column, columns);
  }
};

void pool_bags(const BagBlock& block) {
  if (block.lookups == 0) {
    for (std::int64_t bag = block.begin; bag < block.end; ++bag) {
      std::fill_n(block.out + bag * block.out_stride, block.dim, 0.0F);
    }
    return;
  }
  for_each_tile(block.dim, PoolBags{block});
}

/// One row's lookups: pairs [begin, end).
struct Run {
  std::int64_t begin;
  std::int64_t end;
  float* weights;
};

template <int V, bool Tail>
Columns<V, Tail> sum_tile(const RunBlock& block, const Run& run, std::int64_t column,
                          __m256i mask) {
  const std::uint64_t bags = (std::uint64_t{1} << block.bag_bits) - 1;
  const float* gradient = block.gradient + column;
  const std::int64_t columns = V * kLanes + (Tail ? kLanes : 0);
  const std::int64_t distance = prefetch_distance(block.dim);
  Columns<V, Tail> sum;
  sum.clear();
  for (std::int64_t i = run.begin; i < run.end; ++i) {
    const std::uint64_t ahead = block.pairs[std::min(i + distance, block.count - 1)];
    prefetch_row(gradient + static_cast<std::int64_t>(ahead & bags) * block.gradient_stride,
                 columns);
    prefetch_row(
        block.weights + static_cast<std::int64_t>(ahead >> block.bag_bits) * block.dim + column,
        columns);
    const auto bag = static_cast<std::int64_t>(block.pairs[i] & bags);
    sum.add(gradient + bag * block.gradient_stride, mask);
  }
  return sum;
}

struct SgdUpdate {
  const RunBlock& block;
  const Run& run_of;
  template <int V, bool Tail>
  void run(std::int64_t column, std::int64_t columns) const {
    const __m256i mask = tail_mask(columns % kLanes);
    sum_tile<V, Tail>(block, run_of, column, mask)
        .subtract_from(run_of.weights + column, _mm256_set1_ps(block.learning_rate), mask);
  }
};

struct SumToScratch {
  const RunBlock& block;
  const Run& run_of;
  template <int V, bool Tail>
  void run(std::int64_t column, std::int64_t columns) const {
    const __m256i mask = tail_mask(columns % kLanes);
    sum_tile<V, Tail>(block, run_of, column, mask).store(block.scratch + column, mask);
  }
};

float sum_of_squares(const float* values, std::int64_t count) {
  __m256 lanes = _mm256_setzero_ps();
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 each = _mm256_load_ps(values + i);
    lanes = _mm256_fmadd_ps(each, each, lanes);
  }
  alignas(32) float parts[kLanes];
  _mm256_store_ps(parts, lanes);
  float sum = 0;
  for (const float part : parts) sum += part;
  for (; i < count; ++i) sum += values[i] * values[i];
  return sum;
}

/// Row-wise Adagrad needs the whole row's gradient before its first weight can move.
void adagrad_update(const RunBlock& block, const Run& run, float& state) {
  for_each_tile(block.dim, SumToScratch{block, run});
  state += sum_of_squares(block.scratch, block.dim) / static_cast<float>(block.dim);
  const float step = block.learning_rate / (std::sqrt(state) + block.epsilon);
  for (std::int64_t c = 0; c < block.dim; ++c) run.weights[c] -= step * block.scratch[c];
}

void update_rows(const RunBlock& block) {
  for (std::int64_t begin = 0; begin < block.count;) {
    const std::uint64_t row = block.pairs[begin] >> block.bag_bits;
    std::int64_t end = begin + 1;
    while (end < block.count && block.pairs[end] >> block.bag_bits == row) ++end;
    const Run run{begin, end, block.weights + static_cast<std::int64_t>(row) * block.dim};
    if (block.state == nullptr) {
      for_each_tile(block.dim, SgdUpdate{block, run});
    } else {
      adagrad_update(block, run, block.state[row]);
    }
    begin = end;
  }
}

}  // namespace

const LookupKernels kAvx2LookupKernels{pool_bags, update_rows};

}  // namespace neuroshard
