// What has to travel before another plan of the same tables can run.
#include "engine/core/held_cells.h"

#include <boost/test/unit_test.hpp>
#include <utility>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(held_cells)

namespace {

constexpr std::int64_t kRows = 100;

Workload one_table(Optimizer optimizer = Optimizer::kSgd) {
  Table table;
  table.rows = kRows;
  table.dim = 16;
  table.optimizer = optimizer;
  return {{table}, 1024};
}

Shard columns(std::int32_t begin, std::int32_t end, std::int32_t device) {
  return {0, 0, kRows, begin, end, device};
}

/// Fp32 weights of so many columns.
std::int64_t weights(std::int32_t dim) { return kRows * dim * 4; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_shard_brings_what_its_device_does_not_hold) {
  const Workload workload = one_table();
  const HeldCells held(workload, {2, {columns(0, 8, 0), columns(8, 16, 1)}});
  BOOST_TEST(held.missing_bytes(columns(0, 8, 0)) == 0);
  BOOST_TEST(held.missing_bytes(columns(4, 8, 0)) == 0);
  BOOST_TEST(held.missing_bytes(columns(0, 8, 1)) == weights(8));
  BOOST_TEST(held.missing_bytes(columns(0, 16, 1)) == weights(8));
  BOOST_TEST(held.missing_bytes(columns(4, 12, 0)) == weights(4));
  BOOST_TEST(held.missing_bytes({0, 0, 50, 0, 16, 1}) == weights(8) / 2);
  BOOST_TEST(held.home_of(columns(4, 16, 0)) == 1);
  BOOST_TEST(held.home_of(columns(4, 12, 1)) == 0);
}

BOOST_AUTO_TEST_CASE(optimizer_states_travel_with_their_weights) {
  const Workload workload = one_table(Optimizer::kRowwiseAdagrad);
  const HeldCells held(workload, {2, {columns(0, 8, 0), columns(8, 16, 0)}});
  BOOST_TEST(held.missing_bytes(columns(0, 8, 1)) == weights(8) + kRows * 4);
  // The two parts have a number a row each, the whole has one.
  BOOST_TEST(held.missing_bytes(columns(0, 16, 0)) == 0);
}

BOOST_AUTO_TEST_CASE(numbers_of_rows_that_go_pay_for_no_weights_that_come) {
  const Workload workload = one_table(Optimizer::kRowwiseAdagrad);
  const HeldCells held(workload, {2, {columns(0, 4, 0), columns(4, 8, 0), columns(8, 16, 1)}});
  BOOST_TEST(held.missing_bytes(columns(0, 12, 0)) == weights(4));
  // Rows of which nothing is there bring their numbers, too.
  const HeldCells upper(workload, {2, {{0, 0, 60, 0, 16, 0}, {0, 60, kRows, 0, 16, 1}}});
  BOOST_TEST(upper.missing_bytes(columns(0, 16, 0)) == 40 * (16 * 4 + 4));
  BOOST_TEST(upper.missing_bytes({0, 50, 70, 0, 8, 1}) == 10 * (8 * 4 + 4));
}

BOOST_AUTO_TEST_CASE(holders_are_the_devices_with_some_of_the_cells) {
  const Workload workload = one_table();
  const HeldCells held(workload, {4, {columns(0, 4, 3), columns(4, 8, 0), columns(8, 16, 3)}});
  BOOST_TEST((held.holders_of(columns(2, 6, 1)) == std::vector<std::int32_t>{0, 3}));
  BOOST_TEST((held.holders_of(columns(4, 8, 1)) == std::vector<std::int32_t>{0}));
  BOOST_TEST(held.home_of(columns(0, 16, 1)) == 3);
}

BOOST_AUTO_TEST_CASE(a_replica_is_on_every_device) {
  const Workload workload = one_table();
  Shard replica = columns(0, 16, kEveryDevice);
  const HeldCells held(workload, {3, {replica}});
  BOOST_TEST(held.missing_bytes(columns(0, 16, 2)) == 0);
  BOOST_TEST(held.missing_bytes(replica) == 0);
  BOOST_TEST(held.home_of(columns(0, 16, 2)) == kEveryDevice);
  const HeldCells on_one(workload, {3, {columns(0, 16, 1)}});
  BOOST_TEST(on_one.missing_bytes(replica) == 2 * weights(16));
}

BOOST_AUTO_TEST_CASE(more_bytes_than_fit_into_a_number_are_the_most_that_do) {
  Workload workload = one_table();
  workload.tables[0].rows = std::int64_t{1} << 56;
  const Shard whole{0, 0, workload.tables[0].rows, 0, 16, 0};
  Shard everywhere = whole;
  everywhere.device = kEveryDevice;
  BOOST_TEST(moved_bytes(workload, {1000, {whole}}, {1000, {everywhere}}) == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(moved_bytes_are_those_of_all_cells_one_by_one) {
  Rng rng(1);
  const auto random_plan = [&] {
    Plan plan{3, {}};
    const auto row = static_cast<std::int64_t>(rng.between(1, kRows - 1));
    const auto column = static_cast<std::int32_t>(rng.between(1, 15));
    for (const auto& [row_begin, row_end] : {std::pair(std::int64_t{0}, row), {row, kRows}}) {
      for (const auto& [begin, end] : {std::pair(0, column), {column, 16}}) {
        const auto device = static_cast<std::int32_t>(rng.below(3));
        plan.shards.push_back({0, row_begin, row_end, begin, end, device});
      }
    }
    return plan;
  };
  const auto device_of = [](const Plan& plan, std::int64_t row, std::int32_t column) {
    for (const Shard& shard : plan.shards) {
      if (row >= shard.row_begin && row < shard.row_end && column >= shard.column_begin &&
          column < shard.column_end) {
        return shard.device;
      }
    }
    return kEveryDevice;
  };
  for (int trial = 0; trial < 50; ++trial) {
    const Plan from = random_plan();
    const Plan to = random_plan();
    std::int64_t cells = 0;
    std::int64_t rows = 0;  // of shards, without a cell of theirs on the device
    for (const Shard& shard : to.shards) {
      for (std::int64_t row = shard.row_begin; row < shard.row_end; ++row) {
        std::int32_t missing = 0;
        for (std::int32_t column = shard.column_begin; column < shard.column_end; ++column) {
          missing += device_of(from, row, column) != shard.device;
        }
        cells += missing;
        rows += missing == shard.dim();
      }
    }
    BOOST_TEST(moved_bytes(one_table(), from, to) == cells * 4);
    BOOST_TEST(moved_bytes(one_table(Optimizer::kRowwiseAdagrad), from, to) ==
               cells * 4 + rows * 4);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
