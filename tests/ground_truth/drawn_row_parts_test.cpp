// Row shards of a pool against the lookups themselves, index by index.
#include "engine/ground_truth/drawn_row_parts.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <map>
#include <vector>

#include "engine/ground_truth/cpu/index_stream.h"
#include "io/cost_data/collection.h"
#include "tests/ground_truth/collecting.h"

namespace neuroshard {
namespace {

using test::check_refused;
using test::some_tables;
using test::TemporaryFolder;
using test::value_of;

constexpr std::int64_t kBatch = 1024;
constexpr std::uint64_t kSeed = 9;

/// The share of distinct rows whose count is in each bin.
ReuseHistogram bins_of(const std::vector<std::int64_t>& rows) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t row : rows) ++counts[row];
  ReuseHistogram histogram{};
  for (const auto& [row, count] : counts) {
    for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
      const ReuseBinRange range = reuse_bin_range(static_cast<int>(bin));
      if (count < range.low || count > range.high) continue;
      histogram[bin] += 1 / static_cast<double>(counts.size());
    }
  }
  return histogram;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(drawn_row_parts)

BOOST_AUTO_TEST_CASE(row_shards_say_what_is_looked_up_in_their_rows) {
  const ShardPool shares = value_of(ShardPool::make(some_tables(), 16, 32));
  ShardPool pool = shares;
  describe_drawn_row_parts(pool, kBatch, kSeed);
  double largest_difference = 0;
  for (std::size_t id = 0; id < pool.whole.size(); ++id) {
    BOOST_TEST((pool.entries[id] == shares.entries[id]));  // whole tables stay as they are
    const Table& part = pool.entries[pool.whole.size() + id];
    const Table& even = shares.entries[pool.whole.size() + id];
    BOOST_TEST(part.rows == even.rows);
    const IndexStream seen =
        restrict_rows(make_index_stream(pool.whole[id], kBatch, kSeed), 0, part.rows);
    BOOST_TEST(part.pooling_factor * kBatch == static_cast<double>(seen.lookups()));
    const ReuseHistogram expected = bins_of(seen.indices);
    for (std::size_t bin = 0; bin < expected.size(); ++bin) {
      BOOST_TEST(part.reuse_histogram[bin] == expected[bin], boost::test_tools::tolerance(1e-9));
    }
    largest_difference =
        std::max(largest_difference, std::abs(part.pooling_factor - even.pooling_factor));
  }
  BOOST_TEST(largest_difference > 0.1);  // hot rows are in one part or in another
}

// The file beside measured costs says what was measured; of simulated ones, what was simulated.
BOOST_AUTO_TEST_CASE(a_measured_collection_has_them_in_its_pool) {
  const TemporaryFolder folder;
  CollectOptions options;
  options.samples = 1;
  options.max_dim = 8;
  options.batch_size = kBatch;
  options.row_parts = 16;
  options.max_memory_bytes = std::int64_t{16} << 20;
  for (const bool measured : {false, true}) {
    options.output = folder.file(measured ? "measured" : "simulated");
    const auto truth = measured ? test::cpu() : test::sim();
    BOOST_TEST_REQUIRE(collect_compute(*truth, some_tables(), options).ok());
    ShardPool pool = value_of(ShardPool::make(some_tables(), 8, 16));
    if (measured) describe_drawn_row_parts(pool, kBatch, *truth->lookup_seed());
    const io::ComputeData data = value_of(io::read_compute_directory(options.output));
    BOOST_REQUIRE(data.pool.tables.size() == pool.entries.size());
    for (std::size_t id = 0; id < pool.entries.size(); ++id) {
      BOOST_TEST(data.pool.tables[id].pooling_factor == pool.entries[id].pooling_factor);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
