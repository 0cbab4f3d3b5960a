#pragma once

// What one lane does in the embedding-bag kernels: no lane reads what another one computes, so the
// host compiler builds the same functions and tests run them lane by lane without a GPU. Only the
// instructions that load and store differ (bag_access.h).

#include <algorithm>
#include <cstdint>

#include "cuda/lookup/bag_access.h"
#include "cuda/lookup/bag_layout.h"

namespace neuroshard::cuda {

/// Rows a lane of `width` weights asks for before it uses the first of them: up to 128 bytes, which
/// leaves 24 warps a multiprocessor their registers. Eight columns have none left for the factors
/// of eight rows.
constexpr int rows_in_flight(int width, bool scaled) { return scaled && width > 4 ? 4 : 8; }
/// The same for gradients, fewer: most rows are looked up once or twice.
constexpr int gradients_in_flight(int width) { return width > 4 ? 2 : 4; }

/// Where the rows of a lane's columns lie. Rows and row sizes have 32 bits, so an address is one
/// multiply-add.
struct RowAddress {
  const char* base;
  std::uint32_t row_bytes;

  NEUROSHARD_LANE const char* operator()(std::int32_t row) const {
    return base + static_cast<std::uint64_t>(static_cast<std::uint32_t>(row)) * row_bytes;
  }
};

/// Sums of the bags that one group of lanes pools, in the columns of one lane. `kScaled`: with
/// sample weights or means; without either, nothing but additions is compiled.
template <int kWidth, bool kScaled>
struct BagSums {
  const std::int64_t* offsets;  ///< of the bag behind the next one
  float* out;
  std::int64_t out_stride;
  std::int32_t bags;       ///< not finished yet
  std::int32_t bag_begin;  ///< lookups of the current bag, counted from the group's first one
  std::int32_t bag_end;
  std::uint32_t next_end;  ///< low bits of the end of the bag behind it, early: nobody waits for it
  std::uint32_t first;     ///< low bits of the offset of the group's first lookup
  bool mean;
  bool whole_sectors;
  float sum[kWidth];

  /// Differences of 32 bits are exact: a group's lookups are far fewer than 2^31.
  [[nodiscard]] NEUROSHARD_LANE std::int32_t from_first(std::uint32_t offset) const {
    return static_cast<std::int32_t>(offset - first);
  }
  static NEUROSHARD_LANE std::uint32_t low_bits(std::int64_t offset) {
    return static_cast<std::uint32_t>(offset);
  }
  NEUROSHARD_LANE void finish_bag() {
    if constexpr (kScaled) {
      if (mean && bag_end > bag_begin) {
        const float share = 1.0F / static_cast<float>(bag_end - bag_begin);
        NEUROSHARD_UNROLL
        for (int k = 0; k < kWidth; ++k) sum[k] *= share;
      }
      bag_begin = bag_end;
    }
    store_pooled<kWidth>(out, sum, whole_sectors);
    NEUROSHARD_UNROLL
    for (int k = 0; k < kWidth; ++k) sum[k] = 0;
    out += out_stride;
    bag_end = from_first(next_end);
    if (--bags > 1) next_end = low_bits(load_shared(offsets++));
  }
  /// `number` is the lookup's, counted from the group's first one.
  template <typename Weights>
  NEUROSHARD_LANE void add(const typename Weights::Raw& raw, float factor, std::int32_t number) {
    NEUROSHARD_NO_UNROLL
    while (number >= bag_end) finish_bag();
    NEUROSHARD_UNROLL
    for (int k = 0; k < kWidth; ++k) {
      const float weight = Weights::value(raw, k);
      sum[k] = kScaled ? add_scaled(sum[k], weight, factor) : sum[k] + weight;
    }
  }
};

/// Pools bags [first_bag, last_bag) of a slice, at least one, into the columns of one lane. The
/// bags' lookups are one stream, so that short bags have as many rows on their way as long ones.
/// REQUIRES kScaled when the slice has sample weights or takes means.
template <typename Weights, bool kScaled>
NEUROSHARD_LANE void pool_bags(const Slice& slice, std::int64_t first_bag, std::int64_t last_bag,
                               int lane, float* out, std::int64_t out_stride) {
  constexpr int kWidth = Weights::kWidth;
  constexpr int kInFlight = rows_in_flight(kWidth, kScaled);
  const int column = lane * kWidth;
  if (column >= slice.width) return;
  const RowAddress weights{slice.weights + column * Weights::kElementBytes,
                           static_cast<std::uint32_t>(slice.row_bytes)};
  const std::int64_t* offsets = slice.offsets + first_bag;
  const auto bags = static_cast<std::int32_t>(last_bag - first_bag);
  const std::int64_t begin = load_shared(offsets);
  const std::int64_t end = load_shared(offsets + bags);
  BagSums<kWidth, kScaled> sums{};
  sums.first = sums.low_bits(begin);
  sums.offsets = offsets + std::min(bags, 2) + 1;
  sums.bags = bags;
  sums.bag_end = sums.from_first(sums.low_bits(load_shared(offsets + 1)));
  sums.next_end = sums.low_bits(load_shared(offsets + std::min(bags, 2)));
  sums.out = out + first_bag * out_stride + slice.out_column + column;
  sums.out_stride = out_stride;
  sums.mean = slice.mean != 0;
  sums.whole_sectors = slice.width >= 8;
  const std::int32_t lookups = sums.from_first(sums.low_bits(end));
  const std::int32_t* indices = slice.indices + begin;
  const float* factors = nullptr;
  if constexpr (kScaled) {
    if (slice.sample_weights != nullptr) factors = slice.sample_weights + begin;
  }

  std::int32_t row[kInFlight];
  const auto fetch_rows = [&](std::int32_t from) {
    if (from + kInFlight <= lookups) {
      NEUROSHARD_UNROLL
      for (int u = 0; u < kInFlight; ++u) row[u] = load_shared(indices + from + u);
    } else {
      NEUROSHARD_UNROLL
      for (int u = 0; u < kInFlight; ++u) {
        if (from + u < lookups) row[u] = load_shared(indices + from + u);
      }
    }
  };
  const auto factor_of_lookup = [&](std::int32_t number) {
    return kScaled && factors != nullptr ? load_shared(factors + number) : 1.0F;
  };
  fetch_rows(0);
  std::int32_t i = 0;
  while (i + kInFlight <= lookups) {
    typename Weights::Raw raw[kInFlight];
    float factor[kInFlight];
    NEUROSHARD_UNROLL
    for (int u = 0; u < kInFlight; ++u) {
      raw[u] = Weights::load(weights(row[u]));
      factor[u] = factor_of_lookup(i + u);
    }
    fetch_rows(i + kInFlight);  // of the next round, while these rows travel
    NEUROSHARD_UNROLL
    for (int u = 0; u < kInFlight; ++u) sums.template add<Weights>(raw[u], factor[u], i + u);
    i += kInFlight;
  }
  typename Weights::Raw raw[kInFlight] = {};
  float factor[kInFlight] = {};
  NEUROSHARD_UNROLL
  for (int u = 0; u < kInFlight; ++u) {
    if (i + u >= lookups) continue;
    raw[u] = Weights::load(weights(row[u]));
    factor[u] = factor_of_lookup(i + u);
  }
  NEUROSHARD_UNROLL
  for (int u = 0; u < kInFlight; ++u) {
    if (i + u < lookups) sums.template add<Weights>(raw[u], factor[u], i + u);
  }
  NEUROSHARD_NO_UNROLL
  while (sums.bags > 0) sums.finish_bag();
}

/// What the sort carries beside the row of a lookup: its bag among the bags of all tables and, when
/// some table needs one, the factor of its gradient (sample weight, share of a mean).
using PlainLookup = std::uint32_t;
struct ScaledLookup {
  std::uint32_t bag;
  float factor;
};
NEUROSHARD_LANE std::uint32_t bag_of(PlainLookup lookup) { return lookup; }
NEUROSHARD_LANE std::uint32_t bag_of(ScaledLookup lookup) { return lookup.bag; }
NEUROSHARD_LANE float factor_of(PlainLookup) { return 1; }
NEUROSHARD_LANE float factor_of(ScaledLookup lookup) { return lookup.factor; }
NEUROSHARD_LANE void set_lookup(PlainLookup& lookup, std::uint32_t bag, float) { lookup = bag; }
NEUROSHARD_LANE void set_lookup(ScaledLookup& lookup, std::uint32_t bag, float factor) {
  lookup = {bag, factor};
}

/// Key and value of a table's lookup `i`, which is in bag `bag` of it.
template <typename Key, typename Lookup>
NEUROSHARD_LANE void describe_lookup(const UpdateTable& table, std::int64_t first_bag,
                                     std::int64_t bag, std::int64_t i, Key* keys, Lookup* values) {
  float factor = 1;
  if (table.mean != 0) {
    factor /= static_cast<float>(table.offsets[bag + 1] - table.offsets[bag]);
  }
  if (table.sample_weights != nullptr) factor *= table.sample_weights[i];
  keys[table.first_lookup + i] = static_cast<Key>(table.first_row + table.indices[i]);
  set_lookup(values[table.first_lookup + i], static_cast<std::uint32_t>(first_bag + bag), factor);
}

/// Whether a piece begins at sorted lookup `i`: where the row changes and at every multiple of
/// kPieceLookups.
template <typename Key>
NEUROSHARD_LANE bool piece_begins(const Key* keys, std::int64_t i) {
  return i % kPieceLookups == 0 || keys[i] != keys[i - 1];
}

/// Where the sum of sorted lookups [begin, end), a piece, goes: the place of a partial sum when its
/// row goes on before or behind, -1 when they are all of the row.
template <typename Key>
NEUROSHARD_LANE std::int64_t partial_place(const Key* keys, std::int64_t begin, std::int64_t end,
                                           std::int64_t lookups) {
  const bool cut_begin = begin % kPieceLookups == 0;
  const bool before = cut_begin && begin > 0 && keys[begin - 1] == keys[begin];
  const bool behind = end % kPieceLookups == 0 && end < lookups && keys[end] == keys[begin];
  if (!before && !behind) return -1;
  // Of the pieces between two cuts only the first and the last can be part of a longer row.
  return begin / kPieceLookups * 2 + (cut_begin ? 0 : 1);
}

/// The partial sums of a row that begins before cut number `cut` (sorted lookup cut *
/// kPieceLookups) and goes on behind it: place(0) .. place(count - 1), to be added in that order.
struct PartialRun {
  std::int64_t cut;
  std::int64_t first;
  std::int64_t count;  ///< 0: no row crosses the cut, or it has crossed an earlier one

  [[nodiscard]] NEUROSHARD_LANE std::int64_t place(std::int64_t k) const {
    return k == 0 ? first : 2 * (cut + k - 1);
  }
};
template <typename Key>
NEUROSHARD_LANE PartialRun partial_run(const Key* keys, std::int64_t cut, std::int64_t lookups) {
  const std::int64_t at = cut * kPieceLookups;
  const std::int64_t before = at - kPieceLookups;
  const Key key = keys[at];
  if (keys[at - 1] != key || (before > 0 && keys[before - 1] == key)) {
    return {cut, 0, 0};
  }
  // The last cut that still lies inside the row.
  std::int64_t low = cut;
  std::int64_t high = (lookups - 1) / kPieceLookups;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (keys[middle * kPieceLookups] == key) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return {cut, (cut - 1) * 2 + (keys[before] == key ? 0 : 1), low - cut + 2};
}

/// sum += the gradient of one lookup, in the columns of one lane.
template <int kWidth, typename Lookup>
NEUROSHARD_LANE void add_gradient(const Columns<kWidth>& gradient, Lookup lookup, float* sum) {
  NEUROSHARD_UNROLL
  for (int k = 0; k < kWidth; ++k) {
    sum[k] = sizeof(Lookup) > sizeof(PlainLookup)
                 ? add_scaled(sum[k], gradient.value[k], factor_of(lookup))
                 : sum[k] + gradient.value[k];
  }
}

/// sum += the gradients of sorted lookups [begin, end) in the columns of one lane, in their order.
/// `gradient` points at the lane's column of the table's first bag.
template <int kWidth, typename Lookup>
NEUROSHARD_LANE void add_gradients(const Lookup* lookups, std::int64_t begin, std::int64_t end,
                                   const float* gradient, std::int64_t stride,
                                   std::uint32_t first_bag, float* sum) {
  constexpr int kInFlight = gradients_in_flight(kWidth);
  Lookup lookup[kInFlight] = {};
  const auto fetch_lookups = [&](std::int64_t from) {
    NEUROSHARD_UNROLL
    for (int u = 0; u < kInFlight; ++u) {
      if (from + u < end) lookup[u] = lookups[from + u];
    }
  };
  fetch_lookups(begin);
  NEUROSHARD_NO_UNROLL
  for (std::int64_t i = begin; i < end; i += kInFlight) {
    const std::int64_t here = end - i;
    Lookup travelling[kInFlight];
    Columns<kWidth> columns[kInFlight] = {};
    NEUROSHARD_UNROLL
    for (int u = 0; u < kInFlight; ++u) {
      travelling[u] = lookup[u];
      if (u >= here) continue;
      columns[u] = load_columns<kWidth>(gradient + (bag_of(lookup[u]) - first_bag) * stride);
    }
    fetch_lookups(i + kInFlight);  // of the next round, meanwhile
    NEUROSHARD_UNROLL
    for (int u = 0; u < kInFlight; ++u) {
      if (u < here) add_gradient(columns[u], travelling[u], sum);
    }
  }
}

}  // namespace neuroshard::cuda
