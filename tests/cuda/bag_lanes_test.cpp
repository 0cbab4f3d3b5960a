// The embedding-bag kernels' work lane by lane on the CPU: the same functions that run on a GPU,
// called for every tile, group and lane the launch would have, against plain loops.
#include "cuda/lookup/bag_lanes.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "engine/core/rng.h"
#include "tests/support/sanitized.h"

namespace neuroshard::cuda {
namespace {

struct TestTable {
  BagTable table;
  std::vector<float> weights;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> offsets;
  std::vector<float> factors;
};

float random_float(Rng& rng) { return static_cast<float>(rng.uniform()) - 0.5F; }

/// A ragged random table; every fifth bag is empty, and a share of lookups hits row 0.
TestTable make_table(Rng& rng, std::int64_t bags, std::int64_t rows, std::int64_t dim,
                     std::int64_t longest, double hot, bool factors) {
  TestTable made;
  for (std::int64_t i = 0; i < rows * dim; ++i) made.weights.push_back(random_float(rng));
  made.offsets.push_back(0);
  for (std::int64_t bag = 0; bag < bags; ++bag) {
    const std::int64_t length = bag % 5 == 0 ? 0 : rng.between(0, longest);
    for (std::int64_t i = 0; i < length; ++i) {
      const bool at_first = rng.uniform() < hot;
      made.indices.push_back(at_first ? 0 : static_cast<std::int32_t>(rng.between(0, rows - 1)));
      if (factors) made.factors.push_back(random_float(rng));
    }
    made.offsets.push_back(static_cast<std::int64_t>(made.indices.size()));
  }
  made.table.rows = rows;
  made.table.dim = dim;
  return made;
}

std::vector<BagTable> describe(std::vector<TestTable>& made) {
  std::vector<BagTable> tables;
  for (TestTable& one : made) {
    one.table.weights = one.weights.data();
    one.table.indices = one.indices.data();
    one.table.offsets = one.offsets.data();
    one.table.lookups = static_cast<std::int64_t>(one.indices.size());
    one.table.sample_weights = one.factors.empty() ? nullptr : one.factors.data();
    tables.push_back(one.table);
  }
  return tables;
}

template <typename Weights>
void pool_lane(const Slice& slice, std::int64_t first, std::int64_t last, int lane, float* out,
               std::int64_t stride) {
  if (slice.sample_weights != nullptr || slice.mean != 0) {
    pool_bags<Weights, true>(slice, first, last, lane, out, stride);
  } else {
    pool_bags<Weights, false>(slice, first, last, lane, out, stride);
  }
}

/// What pool_kernel does, block after block and thread after thread.
std::vector<float> run_forward(const BagLayout& layout) {
  std::vector<float> out(static_cast<std::size_t>(layout.bags * layout.columns), 77.0F);
  for (std::size_t block = 0; block < layout.slice_of_tile.size(); ++block) {
    const Slice& slice = layout.slices[static_cast<std::size_t>(layout.slice_of_tile[block])];
    for (int thread = 0; thread < kBlockThreads; ++thread) {
      const int group = thread >> slice.lane_bits;
      const int lane = thread & ((1 << slice.lane_bits) - 1);
      const std::int64_t tile = static_cast<std::int64_t>(block) - slice.first_tile;
      const std::int64_t first =
          (tile * (kBlockThreads >> slice.lane_bits) + group) * slice.bags_per_group;
      if (first >= layout.bags) continue;
      const std::int64_t last = std::min(first + slice.bags_per_group, layout.bags);
      if (slice.access == Access::kFp32x4) {
        pool_lane<Fp32Access<4>>(slice, first, last, lane, out.data(), layout.columns);
      } else {
        pool_lane<Fp32Access<1>>(slice, first, last, lane, out.data(), layout.columns);
      }
    }
  }
  return out;
}

std::vector<float> expected_forward(const std::vector<TestTable>& tables, std::int64_t bags,
                                    std::int64_t columns) {
  std::vector<float> out(static_cast<std::size_t>(bags * columns), 0.0F);
  std::int64_t column = 0;
  for (const TestTable& one : tables) {
    for (std::int64_t bag = 0; bag < bags; ++bag) {
      const std::int64_t begin = one.offsets[static_cast<std::size_t>(bag)];
      const std::int64_t end = one.offsets[static_cast<std::size_t>(bag) + 1];
      for (std::int64_t c = 0; c < one.table.dim; ++c) {
        float sum = 0;
        for (std::int64_t i = begin; i < end; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const float weight =
              one.weights[static_cast<std::size_t>(one.indices[at] * one.table.dim + c)];
          sum = one.factors.empty() ? sum + weight : std::fma(weight, one.factors[at], sum);
        }
        if (one.table.pooling == Pooling::kMean && end > begin) {
          sum *= 1.0F / static_cast<float>(end - begin);
        }
        out[static_cast<std::size_t>(bag * columns + column + c)] = sum;
      }
    }
    column += one.table.dim;
  }
  return out;
}

/// Every lookup, sorted by row: what the radix sort hands to the update.
template <typename Key, typename Lookup>
void sort_lookups(const BagLayout& layout, std::vector<Key>& keys, std::vector<Lookup>& lookups) {
  const auto count = static_cast<std::size_t>(layout.lookups);
  std::vector<Key> raw_keys(count);
  std::vector<Lookup> raw_lookups(count);
  for (std::size_t t = 0; t < layout.tables.size(); ++t) {
    const UpdateTable& table = layout.tables[t];
    for (std::int64_t bag = 0; bag < layout.bags; ++bag) {
      for (std::int64_t i = table.offsets[bag]; i < table.offsets[bag + 1]; ++i) {
        describe_lookup(table, static_cast<std::int64_t>(t) * layout.bags, bag, i, raw_keys.data(),
                        raw_lookups.data());
      }
    }
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return raw_keys[a] < raw_keys[b]; });
  for (const std::size_t i : order) {
    keys.push_back(raw_keys[i]);
    lookups.push_back(raw_lookups[i]);
  }
}

struct RowSum {
  std::vector<float> sum;
  int updates = 0;
};

/// Sums per (table, row) as update_kernel and combine_kernel make them: pieces, partial sums, runs.
template <typename Key, typename Lookup>
std::map<std::int64_t, RowSum> run_backward(const BagLayout& layout,
                                            const std::vector<float>& gradient) {
  std::vector<Key> keys;
  std::vector<Lookup> lookups;
  sort_lookups(layout, keys, lookups);
  std::map<std::int64_t, RowSum> sums;
  std::map<std::int64_t, std::vector<float>> partials;
  for (std::int64_t begin = 0; begin < layout.lookups;) {
    std::int64_t end = begin + 1;
    while (end < layout.lookups && !piece_begins(keys.data(), end)) ++end;
    const std::int64_t number = bag_of(lookups[static_cast<std::size_t>(begin)]) / layout.bags;
    const UpdateTable& table = layout.tables[static_cast<std::size_t>(number)];
    std::vector<float> sum(static_cast<std::size_t>(table.dim));
    for (std::int64_t column = 0; column < table.dim; ++column) {
      add_gradients<1>(lookups.data(), begin, end, gradient.data() + table.column + column,
                       layout.columns, static_cast<std::uint32_t>(number * layout.bags),
                       sum.data() + static_cast<std::size_t>(column));
    }
    const std::int64_t place = partial_place(keys.data(), begin, end, layout.lookups);
    if (place < 0) {
      RowSum& row = sums[static_cast<std::int64_t>(keys[static_cast<std::size_t>(begin)])];
      row = {sum, row.updates + 1};
    } else {
      BOOST_REQUIRE(partials.emplace(place, sum).second);  // nobody else's place
      BOOST_REQUIRE(place < (layout.lookups / kPieceLookups + 1) * 2);
    }
    begin = end;
  }
  for (std::int64_t cut = 1; cut <= (layout.lookups - 1) / kPieceLookups; ++cut) {
    const PartialRun run = partial_run(keys.data(), cut, layout.lookups);
    if (run.count == 0) continue;
    RowSum& row =
        sums[static_cast<std::int64_t>(keys[static_cast<std::size_t>(cut * kPieceLookups)])];
    ++row.updates;
    for (std::int64_t k = 0; k < run.count; ++k) {
      const auto partial = partials.find(run.place(k));
      BOOST_REQUIRE(partial != partials.end());
      row.sum.resize(partial->second.size());
      for (std::size_t c = 0; c < row.sum.size(); ++c) row.sum[c] += partial->second[c];
      partials.erase(partial);
    }
  }
  BOOST_TEST(partials.empty());
  return sums;
}

std::map<std::int64_t, std::vector<double>> expected_sums(const std::vector<TestTable>& tables,
                                                          const BagLayout& layout,
                                                          const std::vector<float>& gradient) {
  std::map<std::int64_t, std::vector<double>> sums;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const TestTable& one = tables[t];
    for (std::int64_t bag = 0; bag < layout.bags; ++bag) {
      const std::int64_t begin = one.offsets[static_cast<std::size_t>(bag)];
      const std::int64_t end = one.offsets[static_cast<std::size_t>(bag) + 1];
      for (std::int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        double factor = one.factors.empty() ? 1 : one.factors[at];
        if (one.table.pooling == Pooling::kMean) factor /= static_cast<double>(end - begin);
        auto& sum = sums[layout.tables[t].first_row + one.indices[at]];
        sum.resize(static_cast<std::size_t>(one.table.dim));
        for (std::size_t c = 0; c < sum.size(); ++c) {
          sum[c] +=
              factor *
              gradient[static_cast<std::size_t>(bag * layout.columns + layout.tables[t].column) +
                       c];
        }
      }
    }
  }
  return sums;
}

std::vector<TestTable> mixed_tables(Rng& rng, std::int64_t bags, bool scaled) {
  std::vector<TestTable> tables;
  const std::vector<std::int64_t> dims{4, 8, 32, 100, 128, 132, 256, 1024};
  for (std::size_t t = 0; t < dims.size(); ++t) {
    const std::int64_t longest = t % 3 == 0 ? 1 : t % 3 == 1 ? 20 : 70;
    tables.push_back(make_table(rng, bags, t % 2 == 0 ? 7 : 300, dims[t], longest,
                                t % 4 == 1 ? 0.5 : 0.0, scaled && t % 2 == 0));
    if (scaled && t % 3 == 0) tables.back().table.pooling = Pooling::kMean;
  }
  tables.push_back(make_table(rng, bags, 5, 12, 0, 0, false));  // nothing is looked up
  return tables;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bag_lanes)

BOOST_AUTO_TEST_CASE(pooled_rows_are_the_bits_of_plain_loops_for_tables_of_every_width) {
  Rng rng(1);
  for (const bool scaled : {false, true}) {
    std::vector<TestTable> tables = mixed_tables(rng, 173, scaled);
    const Result<BagLayout> layout = lay_out(describe(tables), 173);
    BOOST_REQUIRE(layout.ok());
    BOOST_TEST(run_forward(*layout) == expected_forward(tables, 173, layout->columns),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(columns_that_are_no_multiple_of_four_are_read_one_by_one) {
  Rng rng(2);
  std::vector<TestTable> tables;
  for (const std::int64_t dim : {5, 8, 1, 67}) {
    tables.push_back(make_table(rng, 40, 50, dim, 9, 0.1, false));
  }
  const Result<BagLayout> layout = lay_out(describe(tables), 40);
  BOOST_REQUIRE(layout.ok());
  for (const Slice& slice : layout->slices) BOOST_TEST((slice.access == Access::kFp32x1));
  BOOST_TEST(run_forward(*layout) == expected_forward(tables, 40, layout->columns),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(narrow_tables_fill_a_gpu_with_shorter_groups_than_wide_ones) {
  constexpr std::int64_t kBags = 8192;
  const auto of_dim = [](std::int64_t dim) {
    BagTable table;
    table.rows = 1000000;
    table.dim = dim;
    table.lookups = 20 * kBags;
    return lay_out(std::vector<BagTable>(8, table), kBags);
  };
  for (const std::int64_t dim : {4, 8, 16, 32, 128, 1024}) {
    const Result<BagLayout> layout = of_dim(dim);
    BOOST_REQUIRE(layout.ok());
    const std::int32_t bags = layout->slices.front().bags_per_group;
    BOOST_TEST(bags == (dim < 128 ? 1 : 3));  // of 20 lookups each
  }
}

BOOST_AUTO_TEST_CASE(every_row_that_was_looked_up_gets_one_update_with_the_sum_of_its_gradients) {
  Rng rng(3);
  for (const bool scaled : {false, true}) {
    for (const std::int64_t bags : {1, 64, 700}) {
      std::vector<TestTable> tables = mixed_tables(rng, bags, scaled);
      const Result<BagLayout> layout = lay_out(describe(tables), bags);
      BOOST_REQUIRE(layout.ok());
      std::vector<float> gradient;
      for (std::int64_t i = 0; i < bags * layout->columns; ++i) {
        gradient.push_back(random_float(rng));
      }
      const auto expected = expected_sums(tables, *layout, gradient);
      BOOST_TEST(layout->scaled == scaled);
      const auto found = scaled ? run_backward<std::uint64_t, ScaledLookup>(*layout, gradient)
                                : run_backward<std::uint32_t, PlainLookup>(*layout, gradient);
      BOOST_REQUIRE(found.size() == expected.size());
      for (const auto& [key, sum] : expected) {
        const RowSum& row = found.at(key);
        BOOST_REQUIRE(row.updates == 1);
        for (std::size_t c = 0; c < sum.size(); ++c) {
          BOOST_REQUIRE_SMALL(static_cast<double>(row.sum[c]) - sum[c], 2e-3);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(runs_that_begin_end_or_lie_at_cuts_keep_all_their_lookups) {
  // One table of one column; run lengths around the cuts between pieces, in many places.
  Rng rng(4);
  for (int round = 0; round < test::unless_sanitized(200, 20); ++round) {
    std::vector<std::uint32_t> keys;
    std::map<std::uint32_t, std::int64_t> lengths;
    for (std::uint32_t row = 0; keys.size() < 4000; ++row) {
      static constexpr std::int64_t kLengths[] = {1, 2, 255, 256, 257, 511, 512, 513, 1300};
      lengths[row] = kLengths[rng.below(std::size(kLengths))];
      keys.insert(keys.end(), static_cast<std::size_t>(lengths[row]), row);
    }
    const auto count = static_cast<std::int64_t>(keys.size());
    std::map<std::int64_t, std::int64_t> partials;
    std::map<std::uint32_t, std::int64_t> found;
    for (std::int64_t begin = 0; begin < count;) {
      std::int64_t end = begin + 1;
      while (end < count && !piece_begins(keys.data(), end)) ++end;
      BOOST_REQUIRE(end - begin <= kPieceLookups);
      const std::int64_t place = partial_place(keys.data(), begin, end, count);
      if (place < 0) {
        BOOST_REQUIRE(found.emplace(keys[static_cast<std::size_t>(begin)], end - begin).second);
      } else {
        BOOST_REQUIRE(partials.emplace(place, end - begin).second);
      }
      begin = end;
    }
    for (std::int64_t cut = 1; cut <= (count - 1) / kPieceLookups; ++cut) {
      const PartialRun run = partial_run(keys.data(), cut, count);
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < run.count; ++k) sum += partials.at(run.place(k));
      if (run.count == 0) continue;
      const std::uint32_t row = keys[static_cast<std::size_t>(cut * kPieceLookups)];
      BOOST_REQUIRE(found.emplace(row, sum).second);
    }
    BOOST_REQUIRE(found == lengths);
  }
}

BOOST_AUTO_TEST_CASE(narrow_tables_take_few_lanes_and_wide_ones_are_cut_evenly) {
  Rng rng(5);
  std::vector<TestTable> tables;
  for (const std::int64_t dim : {4, 32, 128, 132, 1024}) {
    tables.push_back(make_table(rng, 64, 10, dim, 20, 0, false));
  }
  const Result<BagLayout> layout = lay_out(describe(tables), 64);
  BOOST_REQUIRE(layout.ok());
  std::vector<int> lanes;
  std::vector<int> widths;
  for (const Slice& slice : layout->slices) {
    lanes.push_back(1 << slice.lane_bits);
    widths.push_back(slice.width);
  }
  const std::vector<int> expected_lanes{1, 8, 32, 32, 16, 32, 32, 32, 32, 32, 32, 32, 32};
  const std::vector<int> expected_widths{4,   32,  128, 68,  64,  128, 128,
                                         128, 128, 128, 128, 128, 128};
  BOOST_TEST(lanes == expected_lanes, boost::test_tools::per_element());
  BOOST_TEST(widths == expected_widths, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sizes_beyond_the_kernels_counters_are_errors) {
  BagTable table;
  table.rows = 10;
  table.dim = 8;
  BOOST_TEST(lay_out(std::vector{table}, 4).ok());
  BOOST_TEST(lay_out({}, 4).ok());
  BOOST_TEST((lay_out(std::vector{table}, 0).status().code() == StatusCode::kInvalidInput));
  BOOST_TEST(!lay_out(std::vector(3, table), std::int64_t{1} << 31).ok());
  table.rows = std::int64_t{1} << 31;
  BOOST_TEST(!lay_out(std::vector{table}, 4).ok());
  table.rows = 10;
  table.dim = 0;
  BOOST_TEST(!lay_out(std::vector{table}, 4).ok());
  table.dim = 8;
  table.lookups = std::int64_t{1} << 31;
  BOOST_TEST(!lay_out(std::vector{table}, 4).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
