// Where memory asks for row shards: a plan wherever rows make one fit, a good one before any walk,
// and the same one from any number of threads.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <vector>

#include "engine/core/shard_bytes.h"
#include "search/local/descent.h"
#include "search/local/load_placer.h"
#include "search/local/plan_pieces.h"
#include "search/packing/plan_packing.h"
#include "search/problem.h"
#include "search/refine/fast_plan.h"
#include "search/refine/refine.h"
#include "search/refine/row_start.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(row_shards)

namespace {

using test::fits;

const StopCheck kNoLimit{{}};

SearchOptions rows_allowed(RowSplits row_splits, std::int32_t row_parts,
                           std::int64_t evaluations = 2000) {
  SearchOptions options;
  options.row_splits = row_splits;
  options.row_parts = row_parts;
  options.evaluations = evaluations;
  return options;
}

/// Twenty tables beside two or three of 4 columns that no device holds.
struct Task {
  Workload workload;
  Cluster cluster;

  Task(Rng& rng, std::int32_t devices, double slack) : workload(test::many_tables(rng, 20)) {
    const std::int64_t memory = workload_bytes(workload) / devices;
    for (std::int64_t k = rng.between(2, 3); k > 0; --k) {
      workload.tables.push_back(test::make_table(memory * rng.between(2, 3) / 16, 4));
    }
    cluster = test::cluster_with_room(workload, devices, slack);
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
  const Status refused = search(RowSplits::kEven, 8).status();
  BOOST_TEST((refused.code() == StatusCode::kInfeasible));
  BOOST_TEST(refused.message().ends_with("; it fits with row splits 'any'"), refused.message());
  BOOST_TEST(search(RowSplits::kEven, 1).status().message().find("row splits") ==
             std::string::npos);                 // cost models that know none
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
  BOOST_TEST(
      refused.status().message().find("7.82KiB of memory per device would do") != std::string::npos,
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
  SearchOptions no_time = rows_allowed(RowSplits::kAny, 2, 0);
  no_time.time_limit_s = 1e-9;  // over before columns are found not to fit
  for (const SearchOptions& options : {rows_allowed(RowSplits::kAny, 2), no_time}) {
    const auto found = shard_refine({workload, cluster}, evaluator, options);
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    BOOST_TEST(fits(workload, found->plan, cluster));
  }
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

BOOST_AUTO_TEST_CASE(the_first_plan_is_cheaper_than_packing) {
  Rng rng(4);
  double ratio = 0;
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    const Task task(rng, static_cast<std::int32_t>(rng.between(3, 8)), 1.3);
    const Problem problem{task.workload, task.cluster};
    test::FusedEvaluator evaluator = test::random_fused(rng, task.workload, task.cluster.devices);
    const SearchOptions options = rows_allowed(RowSplits::kAny, 16);
    const RowShapes rows = row_shapes(options, task.cluster.devices);
    const ShapeCatalog catalog(space_of(task.workload), evaluator, rows);
    const auto first = row_start(problem, evaluator, catalog, rows, options, {});
    BOOST_REQUIRE_MESSAGE(first.ok(), first.status().message());
    BOOST_TEST(fits(task.workload, first->plan.plan, task.cluster));
    BOOST_TEST(test::canonical_cost(first->plan.plan, evaluator) == first->plan.cost);
    const auto packed = plan_by_memory_with_rows(problem, rows, kNoLimit);
    BOOST_REQUIRE(packed.has_value());
    BOOST_TEST(fits(task.workload, *packed, task.cluster));
    ratio += first->plan.cost / test::canonical_cost(*packed, evaluator);
  }
  BOOST_TEST_MESSAGE("of the packed plan's cost: " << ratio / kRounds);
  BOOST_TEST(ratio < 0.8 * kRounds);
}

BOOST_AUTO_TEST_CASE(placing_begins_with_a_block_on_every_device) {
  Workload workload;
  workload.tables = {test::make_table(40, 8), test::make_table(10, 8), test::make_table(10, 16)};
  test::TableEvaluator evaluator(workload, 4, {8, 3, 1});
  const Cluster cluster = test::make_cluster(4, 10 * 8 * 4 + 10 * 16 * 4);
  const ShapeCatalog catalog(space_of(workload), evaluator, {4, 1});
  LoadPlacer placer({workload, cluster}, evaluator, catalog);
  const std::vector<EntryId> pieces{catalog.whole(1), catalog.block(0), catalog.whole(2)};
  BOOST_REQUIRE(placer.place(pieces, {}));
  const Plan plan = plan_of(placer.assignment(), workload, catalog, 4);
  BOOST_TEST(fits(workload, plan, cluster));
  BOOST_TEST((rows_of(plan, 0) == std::vector<std::int64_t>{10, 10, 10, 10}));
  std::vector<float> compute(placer.compute_ms().begin(), placer.compute_ms().end());
  std::sort(compute.begin(), compute.end());
  BOOST_TEST((compute == std::vector<float>{2, 2, 3, 5}));
  std::vector<std::int64_t> dims(placer.dim_sums().begin(), placer.dim_sums().end());
  std::sort(dims.begin(), dims.end());
  BOOST_TEST((dims == std::vector<std::int64_t>{8, 8, 16, 24}));
  // Memory for a block alone, for less than that, and for a block beside half of the largest.
  LoadPlacer tight({workload, test::make_cluster(4, 10 * 8 * 4 + 10 * 16 * 2)}, evaluator, catalog);
  BOOST_TEST(!tight.place(pieces, {}));
  BOOST_TEST(tight.place(std::vector<EntryId>{catalog.block(0)}, {}));
}

BOOST_AUTO_TEST_CASE(descending_leaves_blocks_where_they_are) {
  Rng rng(5);
  for (int round = 0; round < 8; ++round) {
    const Task task(rng, 4, 1.3);
    const Problem problem{task.workload, task.cluster};
    test::FusedEvaluator evaluator = test::random_fused(rng, task.workload, 4);
    const RowShapes rows{4, round % 2 == 0 ? 1 : 8};
    const ShapeCatalog catalog(space_of(task.workload), evaluator, rows);
    auto packed = plan_by_memory_with_rows(problem, {4, 1}, kNoLimit);
    BOOST_REQUIRE(packed.has_value());
    const Assignment pieces = pieces_of(*packed, task.workload, catalog);
    LocalWalk walk(problem, evaluator, catalog);
    Descent descent(problem, evaluator, catalog);
    const WalkResult found = descent.run(pieces, walk.probe(pieces), 4000, kNoLimit);
    BOOST_TEST(found.cost <= walk.cost(pieces));
    BOOST_TEST(std::abs(walk.cost(found.best) - found.cost) <= 1e-5 * found.cost);
    const Plan plan = plan_of(found.best, task.workload, catalog, 4);
    BOOST_TEST(fits(task.workload, plan, task.cluster));
    // The last block of a table, which may be smaller, counts as one of the others.
    BOOST_TEST(std::abs(test::cost_of(plan, evaluator) - found.cost) <= 1e-4 * found.cost);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
