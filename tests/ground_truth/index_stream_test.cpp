#include "engine/ground_truth/cpu/index_stream.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>

#include "engine/core/scatter.h"
#include "engine/ground_truth/cpu/row_counts.h"
#include "io/tables/tables.h"
#include "tests/support/paths.h"

namespace neuroshard {
namespace {

int bin_of(std::int64_t count) {
  int bin = 0;
  while (bin < kReuseBins - 1 && count > reuse_bin_range(bin).high) ++bin;
  return bin;
}

template <typename Counts>
ReuseHistogram histogram_of(const Counts& counts) {
  ReuseHistogram histogram{};
  for (const std::int64_t count : counts) {
    histogram[static_cast<std::size_t>(bin_of(count))] += 1.0 / static_cast<double>(counts.size());
  }
  return histogram;
}

double total_variation(const ReuseHistogram& a, const ReuseHistogram& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::abs(a[k] - b[k]);
  return sum / 2;
}

std::vector<std::int64_t> counts_of(const IndexStream& stream) {
  std::unordered_map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t row : stream.indices) ++counts[row];
  std::vector<std::int64_t> values;
  values.reserve(counts.size());
  for (const auto& [row, count] : counts) values.push_back(count);
  return values;
}

Table zipf_table(std::int64_t rows, double pooling, double alpha, double batch) {
  Table table;
  table.rows = rows;
  table.dim = 16;
  table.pooling_factor = pooling;
  table.reuse_histogram = expected_reuse(rows, pooling * batch, alpha).histogram;
  return table;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(index_stream)

BOOST_AUTO_TEST_CASE(scatter_is_a_permutation_that_moves_neighbours_apart) {
  for (const std::uint64_t size : {1, 2, 3, 7, 64, 1000, 4097}) {
    const Scatter scatter(size, 11);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < size; ++i) {
      BOOST_TEST_REQUIRE(scatter(i) < size);
      seen.insert(scatter(i));
    }
    BOOST_TEST(seen.size() == size);
  }
  const Scatter scatter(1000000, 5);
  double distance = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    distance += std::abs(static_cast<double>(scatter(i)) - static_cast<double>(scatter(i + 1)));
  }
  BOOST_TEST(distance / 1000 > 200000);  // random pairs are a third of the range apart
  const Scatter huge(std::uint64_t{1} << 40, 5);
  BOOST_TEST(huge(123456789) < (std::uint64_t{1} << 40));
}

BOOST_AUTO_TEST_CASE(a_batch_has_the_requested_lookups_and_bag_lengths) {
  for (const double pooling : {0.0, 0.55, 1.0, 1.7, 20.0, 193.05}) {
    const Table table = zipf_table(50000, pooling, 0.9, 2048);
    const IndexStream stream = make_index_stream(table, 2048, 3);
    BOOST_TEST_CONTEXT("pooling " << pooling) {
      BOOST_TEST(stream.bags() == 2048);
      BOOST_TEST(stream.lookups() == std::llround(pooling * 2048));
      BOOST_TEST(stream.offsets.front() == 0);
      BOOST_TEST(stream.offsets.back() == stream.lookups());
      std::int64_t shortest = INT64_MAX;
      std::int64_t longest = 0;
      for (std::size_t b = 0; b < 2048; ++b) {
        const std::int64_t length = stream.offsets[b + 1] - stream.offsets[b];
        shortest = std::min(shortest, length);
        longest = std::max(longest, length);
      }
      BOOST_TEST(static_cast<double>(longest) <= 1.5 * pooling + 3);
      BOOST_TEST(static_cast<double>(shortest) >= 0.5 * pooling - 3);
      if (pooling == 1) BOOST_TEST((shortest == 1 && longest == 1));
      if (pooling >= 20) BOOST_TEST(longest > shortest);
      for (const std::int64_t row : stream.indices) BOOST_REQUIRE((row >= 0 && row < table.rows));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_batch_follows_the_histogram_and_its_distinct_rows) {
  for (const double alpha : {0.0, 0.8, 1.1, 1.5}) {
    const Table table = zipf_table(200000, 12, alpha, 16384);
    const std::vector<std::int64_t> counts = counts_of(make_index_stream(table, 16384, 9));
    const double expected = distinct_rows(table.reuse_histogram, 12 * 16384, table.rows);
    BOOST_TEST_CONTEXT("alpha " << alpha) {
      BOOST_TEST(static_cast<double>(counts.size()) == expected,
                 boost::test_tools::tolerance(0.001));
      BOOST_TEST(total_variation(histogram_of(counts), table.reuse_histogram) < 0.005);
    }
  }
}

BOOST_AUTO_TEST_CASE(real_tables_keep_their_lookups_rows_and_shares) {
  const auto path = test::data_file("tables/dlrm856_table_configs.json");
  if (!path) {
    BOOST_TEST_MESSAGE("skipped: no data folder");
    return;
  }
  const Result<io::TableFile> file = io::read_tables(*path);
  BOOST_REQUIRE(file.ok());
  double worst = 0;
  double sum = 0;
  int tables = 0;
  for (std::size_t id = 0; id < file->tables.size(); id += 4) {
    const Table& table = file->tables[id];
    const std::int64_t lookups = std::llround(table.pooling_factor * 65536);
    const std::vector<std::int64_t> counts = row_counts(table.reuse_histogram, lookups, table.rows);
    BOOST_REQUIRE(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == lookups);
    BOOST_REQUIRE(static_cast<std::int64_t>(counts.size()) <= table.rows);
    BOOST_REQUIRE(std::all_of(counts.begin(), counts.end(), [](std::int64_t c) { return c > 0; }));
    if (lookups == 0) continue;
    const double distance = total_variation(histogram_of(counts), table.reuse_histogram);
    worst = std::max(worst, distance);
    sum += distance;
    ++tables;
  }
  BOOST_TEST_MESSAGE("mean total variation " << sum / tables << ", worst " << worst);
  BOOST_TEST(tables > 200);
  BOOST_TEST(sum / tables < 0.001);
  BOOST_TEST(worst < 0.005);
}

BOOST_AUTO_TEST_CASE(shares_that_contradict_the_lookups_give_way) {
  ReuseHistogram once{};
  once[0] = 1;  // every row exactly once, but 1,000 lookups into 10 rows
  const std::vector<std::int64_t> counts = row_counts(once, 1000, 10);
  BOOST_TEST(counts.size() == 10U);
  BOOST_TEST(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == 1000);
  ReuseHistogram hot{};
  hot[16] = 1;  // above 32,768 times each, but only 5 lookups
  BOOST_TEST(row_counts(hot, 5, 100) == std::vector<std::int64_t>{5});
  const std::vector<std::int64_t> even = row_counts({}, 7, 3);
  BOOST_TEST(std::accumulate(even.begin(), even.end(), std::int64_t{0}) == 7);
  BOOST_TEST(row_counts(once, 0, 10).empty());
}

BOOST_AUTO_TEST_CASE(the_stream_depends_on_lookups_alone_not_on_the_dim) {
  Table table = zipf_table(5000, 7.3, 1.0, 512);
  const IndexStream narrow = make_index_stream(table, 512, 1);
  table.dim = 128;
  table.name = "other";
  const IndexStream wide = make_index_stream(table, 512, 1);
  BOOST_TEST((narrow.indices == wide.indices && narrow.offsets == wide.offsets));
  BOOST_TEST((make_index_stream(table, 512, 2).indices != wide.indices));
  table.rows = 5001;
  BOOST_TEST((make_index_stream(table, 512, 1).indices != wide.indices));
}

BOOST_AUTO_TEST_CASE(hot_rows_are_not_neighbours_and_lookups_of_a_row_not_in_one_bag) {
  const Table table = zipf_table(100000, 10, 1.2, 4096);
  const IndexStream stream = make_index_stream(table, 4096, 4);
  std::unordered_map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t row : stream.indices) ++counts[row];
  std::int64_t hot = 0;
  std::int64_t with_hot_neighbour = 0;
  for (const auto& [row, count] : counts) {
    if (count < 30) continue;
    ++hot;
    const auto next = counts.find(row + 1);
    if (next != counts.end() && next->second >= 30) ++with_hot_neighbour;
  }
  BOOST_TEST(hot > 50);
  BOOST_TEST(with_hot_neighbour < hot / 10);
}

BOOST_AUTO_TEST_CASE(row_ranges_share_out_the_lookups) {
  const Table table = zipf_table(1000, 6, 0.7, 256);
  const IndexStream whole = make_index_stream(table, 256, 8);
  const IndexStream low = restrict_rows(whole, 0, 300);
  const IndexStream high = restrict_rows(whole, 300, 1000);
  BOOST_TEST(low.bags() == 256);
  BOOST_TEST(low.lookups() + high.lookups() == whole.lookups());
  BOOST_TEST(low.lookups() > 0);
  for (const std::int64_t row : low.indices) BOOST_REQUIRE(row < 300);
  for (const std::int64_t row : high.indices) BOOST_REQUIRE(row < 700);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
