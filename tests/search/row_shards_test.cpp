// Where memory asks for row shards: a plan wherever rows make one fit, and the same one from any
// number of threads.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "search/refine.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
namespace {

SearchOptions rows_allowed(RowSplits row_splits, std::int32_t row_parts,
                           std::int64_t evaluations = 2000) {
  SearchOptions options;
  options.row_splits = row_splits;
  options.row_parts = row_parts;
  options.evaluations = evaluations;
  return options;
}

bool fits(const Workload& workload, const Plan& plan, const Cluster& cluster) {
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  return validate(workload, plan).ok() &&
         *std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_bytes;
}

/// Twenty tables beside two or three of 4 columns that no device holds.
struct Task {
  Workload workload;
  Cluster cluster;

  Task(Rng& rng, std::int32_t devices, double slack) : workload(test::many_tables(rng, 20)) {
    const std::int64_t memory = test::total_bytes(workload) / devices;
    for (std::int64_t k = rng.between(2, 3); k > 0; --k) {
      workload.tables.push_back(test::make_table(memory * rng.between(2, 3) / 16, 4));
    }
    cluster = test::make_cluster(
        devices, static_cast<std::int64_t>(
                     slack * static_cast<double>(test::total_bytes(workload)) / devices));
    workload.tables.back().rows = cluster.memory_bytes / 8;  // two devices of that memory
    cluster.memory_bytes += workload.tables.back().rows * 16 / devices;
  }
};

/// Rows of each of the table's pieces.
std::vector<std::int64_t> rows_of(const Plan& plan, std::int32_t table) {
  std::vector<std::int64_t> rows;
  for (const Shard& shard : plan.shards) {
    if (shard.table == table) rows.push_back(shard.rows());
  }
  return rows;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(row_shards)

BOOST_AUTO_TEST_CASE(halves_fit_where_even_blocks_do_not) {
  // Two devices are filled by halves, the third by the other table; even blocks of both, 334 and
  // 167 rows, are a row too much.
  Workload workload;
  workload.tables = {test::make_table(1000, 4), test::make_table(500, 4)};
  const Cluster cluster = test::make_cluster(3, 500 * 16);
  test::FusedEvaluator evaluator(workload, 3, {1, 1}, 0, true);
  const auto search = [&](RowSplits row_splits, std::int32_t row_parts) {
    return shard_refine({workload, cluster}, evaluator, rows_allowed(row_splits, row_parts));
  };
  BOOST_TEST((search(RowSplits::kEven, 8).status().code() == StatusCode::kInfeasible));
  for (const std::int32_t row_parts : {2, 8}) {  // more parts than devices, or fewer
    const auto found = search(RowSplits::kAny, row_parts);
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    BOOST_TEST(fits(workload, found->plan, cluster));
    BOOST_TEST((rows_of(found->plan, 0) == std::vector<std::int64_t>{500, 500}));
  }
}

BOOST_AUTO_TEST_CASE(halves_fit_on_more_devices_than_cost_models_know_blocks_for) {
  Workload workload;
  workload.tables = {test::make_table(1000, 4), test::make_table(20, 16)};
  const Cluster cluster = test::make_cluster(16, 250 * 16);
  test::FusedEvaluator evaluator(workload, 16, {1, 1}, 0, true);
  const auto found = shard_refine({workload, cluster}, evaluator, rows_allowed(RowSplits::kAny, 4));
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(fits(workload, found->plan, cluster));
  BOOST_TEST((rows_of(found->plan, 0) == std::vector<std::int64_t>{250, 250, 250, 250}));
  // Two parts are too few: said with what would do.
  const auto refused =
      shard_refine({workload, cluster}, evaluator, rows_allowed(RowSplits::kAny, 2));
  BOOST_TEST((refused.status().code() == StatusCode::kInfeasible));
  BOOST_TEST(refused.status().message().find("even split to 500 rows") != std::string::npos,
             refused.status().message());
  BOOST_TEST(refused.status().message().find("at least 7.82KiB") != std::string::npos,
             refused.status().message());
}

BOOST_AUTO_TEST_CASE(halves_where_columns_fit_a_device_and_not_beside_each_other) {
  // Five tables of three fifths of a device, on four: one has to be split, and has 4 columns.
  Workload workload;
  for (int k = 0; k < 5; ++k) workload.tables.push_back(test::make_table(60, 4));
  const Cluster cluster = test::make_cluster(4, 90 * 16);
  test::FusedEvaluator evaluator(workload, 4, {1, 1, 1, 1, 1}, 0, true);
  const auto off = shard_refine({workload, cluster}, evaluator, rows_allowed(RowSplits::kOff, 2));
  BOOST_TEST((off.status().code() == StatusCode::kInfeasible));
  const auto found = shard_refine({workload, cluster}, evaluator, rows_allowed(RowSplits::kAny, 2));
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(fits(workload, found->plan, cluster));
}

BOOST_AUTO_TEST_CASE(what_no_rows_make_fit_is_refused_with_what_would_do) {
  // Halves of 500 rows and a table of 499 leave one row on two devices and two on the third.
  Workload workload;
  workload.tables = {test::make_table(1000, 4), test::make_table(4, 4), test::make_table(499, 4)};
  const Cluster cluster = test::make_cluster(3, 501 * 16);
  test::FusedEvaluator evaluator(workload, 3, {1, 1, 1}, 0, true);
  const auto found = shard_refine({workload, cluster}, evaluator, rows_allowed(RowSplits::kAny, 2));
  BOOST_TEST((found.status().code() == StatusCode::kInfeasible));
  BOOST_TEST(found.status().message().find("would do") != std::string::npos,
             found.status().message());
}

BOOST_AUTO_TEST_CASE(random_tasks_get_plans_that_fit_whatever_the_threads) {
  Rng rng(3);
  for (int round = 0; round < 16; ++round) {
    const Task task(rng, static_cast<std::int32_t>(rng.between(3, 8)), 1.1);
    const RowSplits row_splits = round % 2 == 0 ? RowSplits::kEven : RowSplits::kAny;
    test::FusedEvaluator evaluator = test::random_fused(rng, task.workload, task.cluster.devices);
    const auto search = [&](int threads) {
      ThreadPool pool(threads);
      SearchOptions options = rows_allowed(row_splits, 16, 10000);
      options.pool = &pool;
      return shard_refine({task.workload, task.cluster}, evaluator, options);
    };
    const auto found = search(1);
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    BOOST_TEST(fits(task.workload, found->plan, task.cluster));
    BOOST_TEST(!found->stopped_early);
    const auto again = search(3);
    BOOST_REQUIRE(again.ok());
    BOOST_TEST((again->plan == found->plan));
    const auto last = static_cast<std::int32_t>(task.workload.tables.size()) - 1;
    BOOST_TEST(rows_of(found->plan, last).size() > 1u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
