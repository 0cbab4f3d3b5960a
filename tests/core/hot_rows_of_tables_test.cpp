// What hot rows leave of a batch's lookups, beside batches that are drawn and counted.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/bin_lookups.h"
#include "engine/core/hot_rows.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/rng.h"
#include "tests/core/drawn_lookups.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kBatch = 65536;

/// Tables as batches are counted, and the next batch of the same law.
struct Drawn {
  test::BagKind kind;
  test::CountedBatch counted;
  test::DrawnBags next;
};

Drawn drawn_batches(Rng& rng, int trial, double gentlest, double steepest) {
  const auto kind = static_cast<test::BagKind>(trial % 3);
  const double exponent = gentlest + (steepest - gentlest) * rng.uniform();
  const test::ZipfRows rows(rng.between(2000, 60'000), exponent);
  const double lookups = kind == test::BagKind::kOneHot  ? 0.3 + 0.7 * rng.uniform()
                         : kind == test::BagKind::kFixed ? static_cast<double>(rng.between(1, 6))
                                                         : 0.3 + 4 * rng.uniform();
  const test::DrawnBags now = test::draw_bags(rng, rows, kBatch, kind, lookups);
  Drawn drawn{kind, {now, rows.rows()}, test::draw_bags(rng, rows, kBatch, kind, lookups)};
  drawn.counted.table.bag_lengths =
      kind == test::BagKind::kPoisson ? BagLengths::kPoisson : BagLengths::kEven;
  return drawn;
}

/// What the formulas say of `table`, with the rows that were hot in the batch that it is known by,
/// beside what the next batch has.
void check_next_batch(const Drawn& drawn, const Table& table, double error,
                      const std::string& where) {
  for (const HotLevel& level : hot_levels(table, kBatch)) {
    const test::HotUse use = test::use_of(drawn.next, drawn.counted.hottest(level.rows));
    const LookupParts parts = lookup_parts(table, level.rows, kBatch);
    BOOST_TEST_CONTEXT(where << ", bags of kind " << static_cast<int>(drawn.kind) << ", "
                             << level.rows << " rows looked up " << level.min_count << " times, of "
                             << table.rows) {
      BOOST_TEST(std::abs(parts.hot_share - use.lookups) < error);
      BOOST_TEST(std::abs(parts.cold_bags - use.cold_bags) < error);
      BOOST_TEST(least_count(table, level.rows, kBatch) == level.min_count);
    }
  }
}

Plan plan_of_one(const Table& table, std::int64_t hot) {
  Shard shard{0, 0, table.rows, 0, table.dim, 0};
  shard.kernel.hot_rows = hot;
  return {2, {shard}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hot_rows_of_tables)

BOOST_AUTO_TEST_CASE(counted_shares_are_those_of_the_next_batch) {
  Rng rng(5);
  for (int trial = 0; trial < test::unless_sanitized(24, 3); ++trial) {
    const Drawn drawn = drawn_batches(rng, trial, 0.4, 1.3);
    const Table& table = drawn.counted.table;
    check_next_batch(drawn, table, 0.02, "trial " + std::to_string(trial));
    for (const HotLevel& level : hot_levels(table, kBatch)) {
      const auto often = [&](std::int64_t count) { return count >= level.min_count; };
      const auto& counts = drawn.counted.counts;
      const auto rows = static_cast<double>(std::count_if(counts.begin(), counts.end(), often));
      BOOST_TEST(std::abs(static_cast<double>(level.rows) - rows) <= std::max(1.0, 0.02 * rows));
    }
  }
}

BOOST_AUTO_TEST_CASE(histograms_alone_say_nearly_as_much) {
  Rng rng(6);
  for (int trial = 0; trial < test::unless_sanitized(24, 3); ++trial) {
    const Drawn drawn = drawn_batches(rng, trial, 0.5, 0.9);
    Table table = drawn.counted.table;
    table.hot_coverage = {};
    check_next_batch(drawn, table, 0.03, "trial " + std::to_string(trial));
    const auto& counts = drawn.counted.counts;
    const double distinct =
        static_cast<double>(counts.size()) -
        static_cast<double>(std::count(counts.begin(), counts.end(), std::int64_t{0}));
    BOOST_TEST(bin_lookups(table, kBatch).distinct == distinct, boost::test_tools::tolerance(0.02));
  }
}

BOOST_AUTO_TEST_CASE(no_hot_rows_take_what_rows_that_were_never_seen_do) {
  Rng rng(7);
  for (const double exponent : {0.0, 0.5, 0.9, 1.2}) {
    const test::ZipfRows rows(200'000, exponent);
    const test::DrawnBags now = test::draw_bags(rng, rows, kBatch, test::BagKind::kOneHot, 1);
    const test::DrawnBags next = test::draw_bags(rng, rows, kBatch, test::BagKind::kOneHot, 1);
    const test::CountedBatch counted(now, rows.rows());
    const auto& counts = counted.counts;
    const std::int64_t seen =
        rows.rows() - std::count(counts.begin(), counts.end(), std::int64_t{0});
    const test::HotUse use = test::use_of(next, counted.hottest(seen));
    BOOST_TEST(std::abs(lookup_parts(counted.table, seen, kBatch).hot_share - use.lookups) < 0.01);
    BOOST_TEST(lookup_parts(counted.table, seen, kBatch).counted_share == 1);
  }
}

BOOST_AUTO_TEST_CASE(bags_have_cold_rows_by_their_lengths) {
  using boost::test_tools::tolerance;
  BOOST_TEST(cold_bag_share(3, 0.5, BagLengths::kEven) == 1 - 0.125, tolerance(1e-12));
  BOOST_TEST(cold_bag_share(2.5, 0.5, BagLengths::kEven) == 1 - 0.5 * (0.25 + 0.125),
             tolerance(1e-12));
  BOOST_TEST(cold_bag_share(0.4, 0.9, BagLengths::kEven) == 0.4 * 0.1, tolerance(1e-12));
  BOOST_TEST(cold_bag_share(2, 0.5, BagLengths::kPoisson) == 1 - std::exp(-1.0), tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(parts_add_up_to_the_table) {
  using boost::test_tools::tolerance;
  Table table;
  table.rows = 100'000;
  table.dim = 8;
  table.pooling_factor = 3.5;
  table.features = 2;
  table.reuse_histogram = expected_reuse(table.rows, 3.5 * kBatch, 1.1).histogram;
  const double distinct = bin_lookups(table, kBatch).distinct;
  for (const std::int64_t rows : {1L, 77L, 1000L, 20'000L}) {
    const LookupParts parts = lookup_parts(table, rows, kBatch);
    BOOST_TEST(parts.hot_distinct == static_cast<double>(rows), tolerance(1e-9));
    BOOST_TEST(parts.distinct == distinct);
    BOOST_TEST(parts.hot_share < parts.counted_share);
    const double of_hot = parts.hot_distinct / distinct;
    for (std::size_t bin = 0; bin < kReuseBins; ++bin) {
      BOOST_TEST(
          of_hot * parts.hot[bin] + (1 - of_hot) * parts.cold[bin] == table.reuse_histogram[bin],
          tolerance(1e-9));
    }
    // 1.75 lookups a bag: a quarter of the bags have one, the others two.
    const double s = parts.hot_share;
    BOOST_TEST(parts.cold_bags == 1 - (0.25 * s + 0.75 * s * s), tolerance(1e-9));
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

/// Whatever is added up in which order, more rows are in no fewer bags.
BOOST_AUTO_TEST_CASE(tables_whose_data_moved_on_are_valid) {
  Rng rng(3);
  for (int k = 0; k < 1000; ++k) {
    Table table;
    table.rows = rng.between(1000, 1'000'000);
    table.dim = 8;
    table.pooling_factor = rng.uniform() * (k % 2 == 0 ? 1 : 30);
    table.bag_lengths = k % 3 == 0 ? BagLengths::kEven : BagLengths::kPoisson;
    const double lookups = table.pooling_factor * kBatch;
    table.reuse_histogram = expected_reuse(table.rows, lookups, 1.5 * rng.uniform()).histogram;
    BOOST_REQUIRE(validate(table).ok());
    for (const double kept : {0.0, 0.5, 0.75, 0.9, 1.0}) {
      const Status moved = validate(moved_on(table, kept, kBatch));
      BOOST_TEST(moved.ok(), moved.message());
    }
  }
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
