// What hot rows leave of a batch's lookups, beside batches that are drawn and counted.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kBatch = 65536;

/// Rows of all lookups of a batch, bag after bag of `pooling` lookups, hot ones with low numbers.
std::vector<std::vector<std::int64_t>> drawn_bags(Rng& rng, std::int64_t rows, int pooling,
                                                  double skew) {
  std::vector<std::vector<std::int64_t>> bags(static_cast<std::size_t>(kBatch));
  for (auto& bag : bags) {
    for (int k = 0; k < pooling; ++k) {
      const double at = std::pow(rng.uniform(), skew);
      bag.push_back(std::min(rows - 1, static_cast<std::int64_t>(at * static_cast<double>(rows))));
    }
  }
  return bags;
}

/// A batch, counted.
struct Batch {
  Table table;
  std::vector<std::vector<std::int64_t>> bags;
  std::vector<std::int64_t> count;  // of each row

  Batch(Rng& rng, std::int64_t rows, int pooling, double skew)
      : bags(drawn_bags(rng, rows, pooling, skew)), count(static_cast<std::size_t>(rows)) {
    for (const auto& bag : bags) {
      for (const std::int64_t row : bag) ++count[static_cast<std::size_t>(row)];
    }
    table.rows = rows;
    table.dim = 16;
    table.pooling_factor = pooling;
    double distinct = 0;
    for (const std::int64_t own : count) {
      if (own == 0) continue;
      distinct += 1;
      int bin = 0;
      while (own > reuse_bin_range(bin).high) ++bin;
      table.reuse_histogram[static_cast<std::size_t>(bin)] += 1;
    }
    for (double& share : table.reuse_histogram) share /= distinct;
  }

  /// Of each row, whether it is among so many of the hottest.
  [[nodiscard]] std::vector<bool> hottest(std::int64_t rows) const {
    std::vector<std::size_t> order(count.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return count[a] > count[b]; });
    std::vector<bool> hot(count.size());
    for (std::int64_t k = 0; k < rows; ++k) hot[order[static_cast<std::size_t>(k)]] = true;
    return hot;
  }
};

Plan plan_of_one(const Table& table, std::int64_t hot) {
  Shard shard{0, 0, table.rows, 0, table.dim, 0};
  shard.kernel.hot_rows = hot;
  return {2, {shard}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hot_rows_of_tables)

BOOST_AUTO_TEST_CASE(shares_are_those_of_drawn_batches) {
  Rng rng(5);
  for (int trial = 0; trial < test::unless_sanitized(12, 3); ++trial) {
    const int pooling = static_cast<int>(rng.between(1, 4));
    const Batch batch(rng, rng.between(2000, 60'000), pooling, 1.5 + 2 * rng.uniform());
    for (const HotLevel& level : hot_levels(batch.table, kBatch)) {
      if (level.min_count < 3) continue;  // bins of few counts are as wide as their counts
      const std::vector<bool> hot = batch.hottest(level.rows);
      double lookups = 0;
      double cold_bags = 0;
      for (const auto& bag : batch.bags) {
        bool cold = false;
        for (const std::int64_t row : bag) {
          const bool own = hot[static_cast<std::size_t>(row)];
          lookups += own ? 1 : 0;
          cold = cold || !own;
        }
        cold_bags += cold ? 1 : 0;
      }
      const LookupParts parts = lookup_parts(batch.table, level.rows, kBatch);
      const double share = lookups / static_cast<double>(kBatch * pooling);
      BOOST_TEST_INFO("trial " << trial << ", " << level.rows << " rows of " << batch.table.rows);
      // A bin says no more of its counts than their range, twice as wide as its least.
      BOOST_TEST(std::abs(parts.hot_share - share) < 0.06);
      BOOST_TEST_INFO("trial " << trial << ", " << level.rows << " rows of " << batch.table.rows);
      BOOST_TEST(std::abs(parts.cold_bags - cold_bags / kBatch) < 0.08);
      BOOST_TEST(least_count(batch.table, level.rows, kBatch) == level.min_count);
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_add_up_to_the_table) {
  Table table;
  table.rows = 100'000;
  table.dim = 8;
  table.pooling_factor = 3.5;
  table.features = 2;
  table.reuse_histogram = expected_reuse(table.rows, 3.5 * kBatch, 1.1).histogram;
  const double lookups = 3.5 * kBatch;
  const double distinct = distinct_rows(table.reuse_histogram, lookups, table.rows);
  for (const std::int64_t rows : {1L, 77L, 1000L, 20'000L}) {
    const LookupParts parts = lookup_parts(table, rows, kBatch);
    BOOST_TEST(parts.hot_distinct == static_cast<double>(rows), boost::test_tools::tolerance(1e-9));
    const double cold = distinct_rows(parts.cold, lookups * (1 - parts.hot_share), table.rows);
    BOOST_TEST(cold + parts.hot_distinct == distinct, boost::test_tools::tolerance(1e-9));
    const double hot = distinct_rows(parts.hot, lookups * parts.hot_share, table.rows);
    BOOST_TEST(hot == parts.hot_distinct, boost::test_tools::tolerance(1e-9));
    // 1.75 lookups a bag: a quarter of the bags have one, the others two.
    const double s = parts.hot_share;
    BOOST_TEST(parts.cold_bags == 1 - (0.25 * s + 0.75 * s * s),
               boost::test_tools::tolerance(1e-9));
  }
  BOOST_TEST(lookup_parts(table, 0, kBatch).cold_bags == 1);
}

BOOST_AUTO_TEST_CASE(every_device_holds_their_rows_states_and_gradients) {
  Workload workload;
  workload.tables.resize(1);
  Table& table = workload.tables[0];
  table.rows = 1000;
  table.dim = 8;
  table.optimizer = Optimizer::kRowwiseAdagrad;
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan_of_one(table, 10));
  const std::int64_t row = 8 * 4 + 4;
  BOOST_TEST(bytes[0] == 1000 * row + 10 * (row + 8 * 4));
  BOOST_TEST(bytes[1] == 10 * (row + 8 * 4));
}

BOOST_AUTO_TEST_CASE(what_no_plan_has_is_refused) {
  Workload workload;
  workload.tables.resize(1);
  workload.tables[0].name = "a";
  workload.tables[0].rows = 1000;
  workload.tables[0].dim = 8;
  const Table& table = workload.tables[0];
  BOOST_TEST(validate(workload, plan_of_one(table, 999)).ok());
  BOOST_TEST(validate(workload, plan_of_one(table, 1000)).message() ==
             "table 0 (a): 1000 hot rows, expected fewer than its 1000");
  Plan everywhere{2, {whole_table(workload, 0, kEveryDevice)}};
  const HotRows hot{0, 10};
  BOOST_TEST(give_hot_rows({&hot, 1}, everywhere).message() ==
             "hot_rows[0]: table 0 is whole on every device, expected one in shards");
  Plan plan = plan_of_one(table, 0);
  const HotRows none{0, 0};
  BOOST_TEST(give_hot_rows({&none, 1}, plan).message() ==
             "hot_rows[0]: 0 rows, expected 1 or more");
  const HotRows other{3, 1};
  BOOST_TEST(give_hot_rows({&other, 1}, plan).message() == "hot_rows[0]: table 3 has no shards");
  BOOST_TEST(check_no_hot_rows(plan_of_one(table, 7), "why").message() ==
             "table 0: found 7 hot rows on every device, expected none: why");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
