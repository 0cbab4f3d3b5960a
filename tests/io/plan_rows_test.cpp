// Plans of tables that have more or fewer rows by now.
#include "io/plans/plan_rows.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/core/row_blocks.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(plan_rows)

namespace {

using Tables = std::vector<std::int32_t>;

Workload workload_of(const std::vector<std::int64_t>& rows) {
  Workload workload;
  for (const std::int64_t count : rows) {
    Table table;
    table.rows = count;
    table.dim = 8;
    table.pooling_factor = 1;
    table.reuse_histogram[0] = 1;
    workload.tables.push_back(table);
  }
  return workload;
}

/// One table of 10 rows: whole, in columns, in blocks, in blocks of columns, on every device.
const std::vector<std::vector<Shard>> kWays{
    {{0, 0, 10, 0, 8, 1}},
    {{0, 0, 10, 0, 4, 1}, {0, 0, 10, 4, 8, 2}},
    {{0, 0, 3, 0, 8, 0}, {0, 3, 6, 0, 8, 1}, {0, 6, 9, 0, 8, 2}, {0, 9, 10, 0, 8, 3}},
    {{0, 0, 5, 0, 4, 0}, {0, 5, 10, 0, 4, 1}, {0, 0, 5, 4, 8, 2}, {0, 5, 10, 4, 8, 3}},
    {{0, 0, 10, 0, 8, kEveryDevice}}};

}  // namespace

BOOST_AUTO_TEST_CASE(shards_have_the_rows_of_now_in_all_ways_that_are_known) {
  for (const std::vector<Shard>& shards : kWays) {
    for (const std::int64_t rows : {4, 7, 11, 1000}) {
      const Workload workload = workload_of({rows});
      Plan plan{4, shards};
      BOOST_TEST((fit_rows(workload, plan) == Tables{0}));
      BOOST_TEST(validate(workload, plan).message() == "", rows << " rows");
      for (std::size_t k = 0; k < shards.size(); ++k) {
        BOOST_TEST(plan.shards[k].device == shards[k].device);
        BOOST_TEST(plan.shards[k].column_begin == shards[k].column_begin);
      }
      // Even blocks are even ones again.
      if (shards.size() == 4 && shards[1].column_begin == 0 && shards[2].column_begin == 0) {
        BOOST_TEST(plan.shards[0].rows() == block_rows(rows, 4));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(blocks_of_a_modulo_are_such_blocks_again) {
  for (const std::int64_t rows : {4, 9, 11, 1002}) {
    const Workload workload = workload_of({rows});
    // 10 rows: keys 0, 4, 8; 1, 5, 9; 2, 6; 3, 7.
    Plan plan{4, {{0, 0, 3, 0, 8, 0}, {0, 3, 6, 0, 8, 1}, {0, 6, 8, 0, 8, 2}, {0, 8, 10, 0, 8, 3}}};
    BOOST_TEST((fit_rows(workload, plan) == Tables{0}));
    BOOST_TEST(validate(workload, plan).message() == "", rows << " rows");
    for (std::int32_t k = 0; k < 4; ++k) {
      BOOST_TEST(plan.shards[static_cast<std::size_t>(k)].rows() == (rows - k + 3) / 4);
    }
  }
  // Of one size, they may be either.
  const Plan equal{
      4, {{0, 0, 3, 0, 8, 0}, {0, 3, 6, 0, 8, 1}, {0, 6, 9, 0, 8, 2}, {0, 9, 12, 0, 8, 3}}};
  const auto last_rows = [&](RowDeal deal) {
    Plan plan = equal;
    BOOST_TEST((fit_rows(workload_of({14}), plan, deal) == Tables{0}));
    return plan.shards[3].rows();
  };
  BOOST_TEST(last_rows(RowDeal::kEven) == 2);  // 4, 4, 4, 2
  BOOST_TEST(last_rows(RowDeal::kModulo) == 3);
  Plan few{2, {{0, 0, 6, 0, 8, 0}, {0, 6, 11, 0, 8, 1}}};
  BOOST_TEST(fit_rows(workload_of({1}), few).empty());  // one has none
}

// A half and quarters, as a search makes them by default.
BOOST_AUTO_TEST_CASE(other_blocks_keep_their_shares) {
  const Plan plan{3,
                  {{0, 0, 3650, 0, 8, 0}, {0, 3650, 10951, 0, 8, 1}, {0, 10951, 14601, 0, 8, 2}}};
  for (const std::int64_t rows : {3, 4, 100, 18981, 2'000'000'000}) {
    const Workload workload = workload_of({rows});
    Plan now = plan;
    BOOST_TEST((fit_rows(workload, now) == Tables{0}));
    BOOST_TEST(validate(workload, now).message() == "", rows << " rows");
    for (std::size_t k = 0; k < 3; ++k) {
      const double share = static_cast<double>(plan.shards[k].rows()) / 14601;
      BOOST_TEST(std::abs(static_cast<double>(now.shards[k].rows()) -
                          share * static_cast<double>(rows)) <= 1);
    }
  }
  Plan few = plan;
  BOOST_TEST(fit_rows(workload_of({2}), few).empty());  // one has none
  BOOST_TEST((few == plan));
}

BOOST_AUTO_TEST_CASE(what_has_the_same_rows_stays) {
  for (const std::vector<Shard>& shards : kWays) {
    const Plan before{4, shards};
    Plan plan = before;
    BOOST_TEST(fit_rows(workload_of({10}), plan).empty());
    BOOST_TEST((plan == before));
  }
}

BOOST_AUTO_TEST_CASE(only_tables_that_changed_are_named) {
  Plan plan{2, {{0, 0, 10, 0, 8, 0}, {1, 0, 20, 0, 8, 1}, {2, 0, 30, 0, 8, 1}}};
  BOOST_TEST((fit_rows(workload_of({11, 20, 29}), plan) == Tables{0, 2}));
  BOOST_TEST(plan.shards[1].row_end == 20);
}

BOOST_AUTO_TEST_CASE(other_row_ranges_and_unknown_tables_are_left_to_be_refused) {
  const std::vector<std::vector<Shard>> ways{
      {{0, 0, 5, 0, 8, 0}, {0, 0, 10, 0, 8, 1}},                      // they overlap
      {{0, 0, 4, 0, 8, 0}, {0, 4, 8, 0, 8, 1}, {0, 8, 10, 0, 8, 2}},  // 4 rows: a block has none
      {{0, 2, 10, 0, 8, 0}},                                          // not from the first row on
      {{3, 0, 10, 0, 8, 0}},                                          // no such table
      {{0, 0, INT64_MAX, 0, 8, 0}},
      {{0, INT64_MIN, INT64_MAX, 0, 8, 0}, {0, 0, 1, 0, 8, 0}}};
  for (const std::vector<Shard>& shards : ways) {
    const Plan before{4, shards};
    Plan plan = before;
    BOOST_TEST(fit_rows(workload_of({4}), plan).empty());
    BOOST_TEST((plan == before));
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::io
