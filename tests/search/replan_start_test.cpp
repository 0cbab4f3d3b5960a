// Plans to go on from where one that runs cannot stay: it lacks tables, or devices have too little.
#include <boost/test/unit_test.hpp>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/held_cells.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "search/plan_cost.h"
#include "search/replan/feasible_start.h"
#include "search/replan/fresh_start.h"
#include "search/replan/replan.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(replan_start)

namespace {

constexpr std::int32_t kFour = 4;

/// All but the tables of `fresh`, whole, round robin.
Plan dealt_out(const Workload& workload, const std::set<std::int32_t>& fresh = {}) {
  Plan plan{kFour, {}};
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    if (!fresh.contains(table)) plan.shards.push_back(whole_table(workload, table, table % kFour));
  }
  return plan;
}

std::int64_t fullest(const Workload& workload, const Plan& plan) {
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  return *std::max_element(bytes.begin(), bytes.end());
}

void check_start(const Workload& workload, const Plan& plan, const Cluster& cluster) {
  BOOST_TEST(validate(workload, plan).message() == "");
  BOOST_TEST(fullest(workload, plan) <= cluster.memory_bytes);
  std::set<std::pair<std::int32_t, std::int32_t>> places;
  for (const Shard& shard : plan.shards) {
    BOOST_TEST(places.insert({shard.table, shard.device}).second);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_plan_that_may_stay_is_the_start) {
  Rng rng(1);
  const Workload workload = test::many_tables(rng, 20);
  const Plan now = dealt_out(workload);
  const Cluster cluster = test::make_cluster(kFour, fullest(workload, now));
  const Result<Plan> start = feasible_start({workload, cluster}, now, false);
  BOOST_REQUIRE(start.ok());
  BOOST_TEST((*start == now));
}

BOOST_AUTO_TEST_CASE(what_is_too_much_goes_elsewhere_and_little_of_it) {
  Rng rng(2);
  int moved = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const Workload workload = test::many_tables(rng, 30);
    const Plan now = dealt_out(workload);
    const std::int64_t mean = workload_bytes(workload) / kFour;
    const std::int64_t most = fullest(workload, now);
    const Cluster cluster = test::make_cluster(kFour, mean + (most - mean) / 2);
    const Result<Plan> start = feasible_start({workload, cluster}, now, trial % 2 == 0);
    if (!start.ok()) continue;  // no shard of one device fits on another
    check_start(workload, *start, cluster);
    const std::int64_t bytes = moved_bytes(workload, now, *start);
    BOOST_TEST(bytes >= most - cluster.memory_bytes);
    BOOST_TEST(bytes < workload_bytes(workload) / 2);
    ++moved;
  }
  BOOST_TEST(moved > 25);
}

BOOST_AUTO_TEST_CASE(tables_that_are_new_are_placed_whole_or_in_columns) {
  Workload workload;
  workload.tables = {test::make_table(100, 16), test::make_table(100, 16),
                     test::make_table(300, 16), test::make_table(10, 16)};
  workload.tables[3].devices = DeviceSet({2});
  workload.tables[3].sharding.columns = false;
  const Plan now{kFour, {whole_table(workload, 0, 0), whole_table(workload, 1, 1)}};
  const Cluster roomy = test::make_cluster(kFour, 20'000);
  const Result<Plan> whole = feasible_start({workload, roomy}, now, true);
  BOOST_REQUIRE(whole.ok());
  check_start(workload, *whole, roomy);
  BOOST_TEST(whole->shards.size() == 4U);
  BOOST_TEST(whole->shards[3].device == 2);
  BOOST_TEST(moved_bytes(workload, now, *whole) == 0);
  // 300 rows of 16 columns are 19,200 bytes.
  const Cluster tight = test::make_cluster(kFour, 11'000);
  const Result<Plan> halves = feasible_start({workload, tight}, now, false);
  BOOST_REQUIRE(halves.ok());
  check_start(workload, *halves, tight);
  BOOST_TEST(halves->shards.size() == 5U);
  const Status refused = feasible_start({workload, tight}, now, true).status();
  BOOST_TEST((refused.code() == StatusCode::kInfeasible));
  BOOST_TEST(refused.message().find("table 2") == 0U, refused.message());
}

BOOST_AUTO_TEST_CASE(where_nothing_fits_elsewhere_the_device_is_named) {
  Workload workload;
  workload.tables = {test::make_table(100, 4), test::make_table(100, 4)};
  workload.tables[0].devices = workload.tables[1].devices = DeviceSet({1});
  const Plan now{kFour, {whole_table(workload, 0, 1), whole_table(workload, 1, 1)}};
  const Status refused =
      feasible_start({workload, test::make_cluster(kFour, 2000)}, now, false).status();
  BOOST_TEST((refused.code() == StatusCode::kInfeasible));
  BOOST_TEST(refused.message().find("device 1 holds ") == 0U, refused.message());
}

BOOST_AUTO_TEST_CASE(searches_go_on_from_it_within_the_limit) {
  Rng rng(3);
  int gains = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const Workload workload = test::many_tables(rng, 40);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, kFour);
    const Plan now = dealt_out(workload, {3, 17, 31});
    const std::int64_t mean = workload_bytes(workload) / kFour;
    const Cluster cluster = test::make_cluster(kFour, mean + mean / 6);
    const Result<Plan> start = feasible_start({workload, cluster}, now, false);
    if (!start.ok()) continue;
    const std::int64_t least = moved_bytes(workload, now, *start);
    const MoveLimit limit{.bytes = least + mean / 4};
    const SearchResult found =
        replan({workload, cluster}, evaluator, {.evaluations = 20'000}, now, *start, limit);
    check_start(workload, found.plan, cluster);
    BOOST_TEST(moved_bytes(workload, now, found.plan) <= limit.bytes);
    BOOST_TEST(plan_cost(found.plan, evaluator) <= plan_cost(*start, evaluator));
    gains += plan_cost(found.plan, evaluator) < 0.95 * plan_cost(*start, evaluator) ? 1 : 0;
  }
  BOOST_TEST(gains > 5);
}

// All devices have columns of all tables, so that nothing can go to another beside what it has.
BOOST_AUTO_TEST_CASE(what_finds_no_room_begins_with_a_plan_made_anew) {
  Rng rng(9);
  Workload workload;
  Plan now{3, {}};
  for (std::int32_t table = 0; table < 4; ++table) {
    workload.tables.push_back(test::make_table(1000, 16));
    now.shards.push_back({table, 0, 1000, 0, 8, 0});
    now.shards.push_back({table, 0, 1000, 8, 12, 1});
    now.shards.push_back({table, 0, 1000, 12, 16, 2});
  }
  const std::int64_t column = 4 * 1000;
  const Cluster cluster = test::make_cluster(3, 24 * column);  // device 0 has 32
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 3);
  const Problem problem(workload, cluster);
  const Status none = feasible_start(problem, now, false).status();
  BOOST_REQUIRE((none.code() == StatusCode::kInfeasible));
  SearchOptions options;
  options.evaluations = 2000;
  const auto start = [&](std::int64_t limit) {
    std::int64_t evaluations = 0;
    Result<Plan> found =
        fresh_start(problem, evaluator, options, now, {.bytes = limit}, none, evaluations);
    BOOST_TEST(evaluations > 0);
    return found;
  };
  const Result<Plan> free = start(1'000'000'000);
  BOOST_REQUIRE_MESSAGE(free.ok(), free.status().message());
  check_start(workload, *free, cluster);
  Workload split = workload;  // that may not be whole, which joined blocks could be
  for (Table& table : split.tables) table.sharding.whole = false;
  const Problem of_split(split, cluster);
  std::int64_t evaluations = 0;
  const Result<Plan> columns =
      fresh_start(of_split, evaluator, options, now, {.bytes = 1'000'000'000}, none, evaluations);
  BOOST_REQUIRE_MESSAGE(columns.ok(), columns.status().message());
  BOOST_TEST(std::none_of(columns->shards.begin(), columns->shards.end(),
                          [](const Shard& shard) { return shard.dim() == 16; }));
  const std::int64_t moved = moved_bytes(workload, now, *free);
  // Some tables go back for a smaller limit, as long as the rest fits.
  const Result<Plan> near = start(moved - 1);
  if (near.ok()) {
    check_start(workload, *near, cluster);
    BOOST_TEST(moved_bytes(workload, now, *near) < moved);
  }
  const Status refused = start(8 * column - 1).status();  // the least that leaves device 0
  BOOST_TEST((refused.code() == StatusCode::kInfeasible));
  BOOST_TEST(refused.message().find("what has to go to others is more than may move: ") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::search
