// Tables whose sharding is limited: what pieces that leaves, and that every search keeps to it.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/core/check_sharding.h"
#include "engine/core/plan_check.h"
#include "search/algorithms.h"
#include "search/bounds/lower_bound.h"
#include "search/feasibility.h"
#include "search/neuroshard.h"
#include "search/piece_sizes.h"
#include "search/plan_cost.h"
#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/limited_tables.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(sharding)

namespace {

using test::kOnlyColumns;
using test::kOnlyReplicas;
using test::kOnlyRows;
using test::kOnlyWhole;
using test::table_of;

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

/// The widest piece that splitting, and splitting what comes of it, leaves.
std::int32_t widest_left(const Table& table, std::int32_t dim) {
  const std::int32_t columns = split_point(space_of(table), dim);
  if (columns == 0) return dim;
  return std::max(widest_left(table, columns), widest_left(table, dim - columns));
}

/// The first fault of the plan's tables against their sharding; "" when there is none.
std::string fault_of(const Workload& workload, Plan plan) {
  canonicalize(plan);
  const Status valid = validate(workload, plan);
  if (!valid.ok()) return valid.message();
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    std::vector<Shard> own;
    for (const Shard& shard : plan.shards) {
      if (shard.table == static_cast<std::int32_t>(table)) own.push_back(shard);
    }
    const Status status = check_sharding(workload.tables[table], own, plan.devices);
    if (!status.ok()) return table_label(workload, own[0].table) + ": " + status.message();
  }
  return "";
}

AllowedSharding random_sharding(Rng& rng) {
  AllowedSharding sharding;
  while (true) {
    for (const ShardingKind kind : all_sharding_kinds()) {
      sharding.set(kind, rng.below(2) == 0);
    }
    sharding.min_columns = static_cast<std::int32_t>(4 * rng.between(1, 6));
    if (!describe(sharding).empty()) return sharding;
  }
}

/// Some of them, for one table in three; else all.
DeviceSet random_devices(std::int32_t devices, Rng& rng) {
  std::vector<std::int32_t> some;
  for (std::int32_t device = 0; device < devices; ++device) {
    if (rng.below(2) == 0) some.push_back(device);
  }
  return rng.below(3) == 0 ? DeviceSet(some) : DeviceSet();
}

Workload random_workload(std::int32_t devices, Rng& rng) {
  Workload workload;
  const auto tables = rng.between(1, 14);
  for (std::int64_t k = 0; k < tables; ++k) {
    const auto dim = static_cast<std::int32_t>(rng.between(1, 20) * (rng.below(3) == 0 ? 1 : 4));
    workload.tables.push_back(table_of(rng.between(1, 300), dim, random_sharding(rng)));
    workload.tables.back().devices = random_devices(devices, rng);
  }
  return workload;
}

std::vector<float> random_costs(const Workload& workload, Rng& rng) {
  std::vector<float> costs;
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    costs.push_back(static_cast<float>(0.1 + rng.uniform()));
  }
  return costs;
}

SearchOptions all_ways(Rng& rng, std::int32_t devices) {
  SearchOptions options;
  options.evaluations = 3000;
  options.seed = rng.below(100);
  options.row_splits = std::array{RowSplits::kOff, RowSplits::kEven, RowSplits::kAny}[rng.below(3)];
  options.row_parts = 16;
  options.replicate = rng.below(2) == 0;
  if (rng.below(2) == 0 && devices % 2 == 0) options.devices_per_host = devices / 2;
  return options;
}

}  // namespace

BOOST_AUTO_TEST_CASE(pieces_as_even_as_multiples_of_four_allow) {
  const auto table = [](std::int32_t dim) { return test::make_table(10, dim); };
  const std::vector<std::pair<int, int>> splits{{7, 0},   {8, 4},   {10, 4},  {12, 8},
                                                {20, 12}, {64, 32}, {100, 52}};
  for (const auto& [dim, first] : splits)
    BOOST_TEST(split_point(space_of(table(dim)), dim) == first);
  const std::vector<std::pair<int, int>> pieces{{1, 1}, {7, 7}, {8, 4}, {10, 6}, {12, 4}, {128, 4}};
  for (const auto& [dim, widest] : pieces) BOOST_TEST(finest_dim(space_of(table(dim))) == widest);
}

BOOST_AUTO_TEST_CASE(no_piece_is_narrower_than_its_table_allows) {
  BOOST_TEST(split_point(space_of(table_of(10, 64, {.min_columns = 32})), 64) == 32);
  BOOST_TEST(split_point(space_of(table_of(10, 64, {.min_columns = 36})), 64) == 0);
  BOOST_TEST(split_point(space_of(table_of(10, 64, kOnlyRows)), 64) == 0);
  for (std::int32_t dim = 1; dim <= 300; ++dim) {
    for (const std::int32_t narrowest : {4, 8, 12, 20, 32, 64, 100}) {
      const Table table = table_of(10, dim, {.min_columns = narrowest});
      const std::int32_t columns = split_point(space_of(table), dim);
      if (columns > 0) BOOST_TEST(std::min(columns, dim - columns) >= narrowest);
      BOOST_TEST(finest_dim(space_of(table)) == widest_left(table, dim));
    }
  }
}

BOOST_AUTO_TEST_CASE(sequences_are_in_equal_halves_of_columns_or_none) {
  for (std::int32_t dim = 1; dim <= 300; ++dim) {
    Table table = table_of(10, dim, {.min_columns = 8});
    table.pooled = false;
    const std::int32_t columns = split_point(space_of(table), dim);
    BOOST_TEST(columns == (dim % 8 == 0 && dim >= 16 ? dim / 2 : 0));
    if (columns > 0) BOOST_TEST(split_point(space_of(table), columns) == 0);
    BOOST_TEST(finest_dim(space_of(table)) == widest_left(table, dim));
  }
}

BOOST_AUTO_TEST_CASE(every_search_keeps_to_what_tables_allow) {
  Rng rng(4);
  int solved = 0;
  int limited = 0;
  constexpr int kRounds = test::unless_sanitized(200, 40);
  for (int round = 0; round < kRounds; ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 9));
    const Workload workload = random_workload(devices, rng);
    const double room = rng.below(3) == 0 ? 1.1 + rng.uniform() : 100;
    const Cluster cluster = test::cluster_with_room(workload, devices, room);
    const std::vector<float> costs = random_costs(workload, rng);
    test::TableEvaluator additive(workload, devices, costs, 0.01F);
    test::TableEvaluator wide(workload, devices, costs, 0.01F, 0.001);
    const SearchOptions options = all_ways(rng, devices);
    for (test::TableEvaluator* evaluator : {&additive, &wide}) {
      for (const Algorithm& algorithm : algorithms()) {
        const auto found = algorithm.run({workload, cluster}, *evaluator, options);
        if (!found.ok()) continue;
        BOOST_TEST(fault_of(workload, found->plan) == "", algorithm.name << " in round " << round);
        BOOST_TEST(test::fits(workload, found->plan, cluster));
        ++solved;
        limited += check_whole_tables({workload, cluster}).ok() ? 0 : 1;
      }
    }
  }
  BOOST_TEST(solved > 3 * kRounds / 2);
  BOOST_TEST(limited > kRounds / 2);
}

BOOST_AUTO_TEST_CASE(with_memory_for_all_what_can_be_divided_as_allowed_is_placed) {
  Rng rng(5);
  for (int round = 0; round < test::unless_sanitized(200, 40); ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 9));
    const Workload workload = random_workload(devices, rng);
    const Cluster cluster = test::make_cluster(devices, kPlenty);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, devices);
    const SearchOptions options = all_ways(rng, devices);
    const Status possible = check_pieces({workload, cluster}, row_shapes(options, devices));
    const auto found = shard_refine({workload, cluster}, evaluator, options);
    BOOST_TEST(found.ok() == possible.ok(), found.status().message());
    if (!found.ok()) {
      BOOST_TEST((found.status().code() == StatusCode::kInfeasible));
      continue;
    }
    BOOST_TEST(fault_of(workload, found->plan) == "");
  }
}

BOOST_AUTO_TEST_CASE(tables_that_may_only_be_whole_are_placed_as_well_as_they_can_be) {
  Rng rng(6);
  for (int round = 0; round < test::unless_sanitized(100, 5); ++round) {
    Workload workload = random_workload(3, rng);
    workload.tables.resize(std::min<std::size_t>(workload.tables.size(), 7));
    for (Table& table : workload.tables) table.sharding = kOnlyWhole;
    const Cluster cluster = test::make_cluster(3, kPlenty);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 3);
    SearchOptions options;
    options.evaluations = 20000;
    options.row_splits = RowSplits::kAny;
    options.row_parts = 16;
    const auto found = shard_refine({workload, cluster}, evaluator, options);
    const auto best = find_algorithm("exact")->run({workload, cluster}, evaluator, {});
    BOOST_REQUIRE(found.ok() && best.ok());
    BOOST_TEST(plan_cost(found->plan, evaluator) == plan_cost(best->plan, evaluator),
               boost::test_tools::tolerance(1e-5));
  }
}

BOOST_AUTO_TEST_CASE(tables_that_may_not_be_whole_are_in_what_they_allow) {
  Workload workload;
  workload.tables = {table_of(100, 16, kOnlyColumns), table_of(100, 16, kOnlyRows),
                     table_of(100, 16, kOnlyReplicas), table_of(100, 16, {})};
  const Cluster cluster = test::make_cluster(2, kPlenty);
  // Shards cost, so that nothing is split without need.
  test::TableEvaluator evaluator(workload, 2, {1, 1, 1, 1}, 5);
  SearchOptions options;
  options.evaluations = 1000;
  options.row_splits = RowSplits::kEven;
  options.row_parts = 4;
  options.replicate = true;
  const auto found = shard_refine({workload, cluster}, evaluator, options);
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(fault_of(workload, found->plan) == "");
  const auto shards_of = [&](std::int32_t table) {
    return std::count_if(found->plan.shards.begin(), found->plan.shards.end(),
                         [&](const Shard& shard) { return shard.table == table; });
  };
  BOOST_TEST(shards_of(0) == 2);
  BOOST_TEST(shards_of(1) == 2);
  BOOST_TEST(shards_of(2) == 1);
  BOOST_TEST(shards_of(3) == 1);
}

BOOST_AUTO_TEST_CASE(tables_are_on_their_devices_and_others_around_them) {
  // Six tables of 1 ms on three devices: those of device 2 leave the others to 0 and 1.
  Workload workload;
  for (int k = 0; k < 6; ++k) workload.tables.push_back(table_of(100, 16, kOnlyWhole));
  workload.tables[0].devices = DeviceSet({2});
  workload.tables[5].devices = DeviceSet({2});
  workload.tables[1].devices = DeviceSet({0, 2});
  const Cluster cluster = test::make_cluster(3, kPlenty);
  test::TableEvaluator evaluator(workload, 3, std::vector<float>(6, 1));
  for (const char* name : {"refine", "exact", "anneal"}) {
    const auto found =
        find_algorithm(name)->run({workload, cluster}, evaluator, {.evaluations = 2000});
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    const std::vector<std::int32_t> device_of = test::devices_of(found->plan);
    BOOST_TEST(device_of[0] == 2);
    BOOST_TEST(device_of[5] == 2);
    BOOST_TEST(device_of[1] == 0);
    BOOST_TEST(plan_cost(found->plan, evaluator) == 2, boost::test_tools::tolerance(1e-6));
  }
}

BOOST_AUTO_TEST_CASE(a_full_device_makes_room_for_the_tables_that_go_nowhere_else) {
  // Largest first, the free tables of 6 and 5 rows would fill device 0; the one of 5 must be there.
  Workload workload;
  for (const std::int64_t rows : {6, 5, 5, 4}) {
    workload.tables.push_back(table_of(rows, 16, kOnlyWhole));
  }
  workload.tables[2].devices = DeviceSet({0});
  workload.tables[3].devices = DeviceSet({1});
  const std::int64_t row = std::int64_t{16} * 4;
  test::TableEvaluator evaluator(workload, 2, {1, 1, 1, 1});
  const Cluster cluster = test::make_cluster(2, 10 * row);
  const auto found = shard_refine({workload, cluster}, evaluator, {.evaluations = 100});
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(test::devices_of(found->plan) == (std::vector<std::int32_t>{1, 0, 0, 1}),
             boost::test_tools::per_element());
  workload.tables[1].devices = DeviceSet({1});
  const auto refused = shard_refine({workload, cluster}, evaluator, {.evaluations = 100});
  BOOST_TEST(refused.status().message() ==
             "found no way to fit 4 tables (1.25 KiB), whole or split, on 2 devices of 640 B: 704B "
             "of memory per device would do");
}

BOOST_AUTO_TEST_CASE(in_little_memory_too) {
  // One device holds little more than a quarter of each: rows, columns and replicas must fit
  // beside each other.
  Workload workload;
  workload.tables = {table_of(100, 16, kOnlyColumns), table_of(100, 16, kOnlyRows),
                     table_of(10, 16, kOnlyReplicas), table_of(2, 16, kOnlyWhole)};
  const std::int64_t row = std::int64_t{16} * 4;
  const Cluster cluster = test::make_cluster(4, row * (25 + 25 + 10 + 2));
  SearchOptions options;
  options.evaluations = 1000;
  options.row_splits = RowSplits::kEven;
  options.row_parts = 4;
  options.replicate = true;
  Rng rng(8);
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
  const auto found = shard_refine({workload, cluster}, evaluator, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(fault_of(workload, found->plan) == "");
  BOOST_TEST(test::fits(workload, found->plan, cluster));
}

BOOST_AUTO_TEST_CASE(rows_over_hosts_and_over_all_devices_fit_beside_each_other) {
  // Blocks of the large table are for all four devices; the other, on the second host alone, fits
  // beside them in its rows over that host, not whole.
  Workload workload;
  workload.tables = {table_of(4000, 16, kOnlyRows), table_of(1000, 16, {.columns = false})};
  workload.tables[1].devices = DeviceSet({2, 3});
  test::TableEvaluator evaluator(workload, 4, {1, 1});
  const Cluster cluster = test::make_cluster(4, 100'000);
  const auto found = shard_refine(
      {workload, cluster}, evaluator,
      {.evaluations = 100, .row_splits = RowSplits::kEven, .row_parts = 4, .devices_per_host = 2});
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(fault_of(workload, found->plan) == "");
  BOOST_TEST(test::fits(workload, found->plan, cluster));
}

BOOST_AUTO_TEST_CASE(bounds_count_with_what_is_allowed) {
  Rng rng(7);
  for (int round = 0; round < test::unless_sanitized(60, 12); ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 6));
    const Workload workload = random_workload(devices, rng);
    Workload free = workload;
    for (Table& table : free.tables) {
      table.sharding = {};
      table.devices = {};
    }
    const Cluster cluster = test::make_cluster(devices, kPlenty);
    const std::vector<float> costs = random_costs(workload, rng);
    test::TableEvaluator evaluator(workload, devices, costs, 0.05F);
    const SearchOptions options = all_ways(rng, devices);
    const RowShapes rows = row_shapes(options, devices);
    const auto found = shard_refine({workload, cluster}, evaluator, options);
    const auto bound = lower_bound({workload, cluster}, evaluator, rows);
    const auto bound_of_free = lower_bound({free, cluster}, evaluator, rows);
    if (!found.ok() || !bound) continue;
    BOOST_TEST(plan_cost(found->plan, evaluator) >= *bound);
    BOOST_TEST(*bound >= *bound_of_free * (1 - 1e-9));
  }
  // Two tables of 4 ms that stay whole on three devices: their halves would be level at 8 / 3.
  Workload workload;
  workload.tables = {table_of(100, 32, kOnlyWhole), table_of(100, 32, kOnlyWhole)};
  test::TableEvaluator evaluator(workload, 3, {4, 4});
  const Cluster cluster = test::make_cluster(3, kPlenty);
  BOOST_TEST(*lower_bound({workload, cluster}, evaluator, {}) == 4,
             boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::search
