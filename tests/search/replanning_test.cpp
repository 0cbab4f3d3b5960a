// Plans near one that runs: cheaper, and with few bytes on other devices than now.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "engine/core/held_cells.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "search/plan_cost.h"
#include "search/refine/refine.h"
#include "search/replan/fresh_plan.h"
#include "search/replan/near_plan.h"
#include "search/replan/replan.h"
#include "tests/search/fused_evaluator.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(replanning)

namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

SearchOptions budget(std::int64_t evaluations) { return {.evaluations = evaluations}; }

/// Tables on random devices, some of them in columns of any width, some over all devices in even
/// blocks of rows, some of them replicas.
Plan random_plan(Rng& rng, const Workload& workload, std::int32_t devices) {
  const auto any_device = [&] {
    return static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(devices)));
  };
  Plan plan{devices, {}};
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    Shard shard = whole_table(workload, static_cast<std::int32_t>(index), any_device());
    const std::uint64_t kind = rng.below(8);
    if (kind == 0) shard.device = kEveryDevice;
    if (kind == 1 && shard.rows() >= 2) {
      Shard upper = shard;
      upper.row_end = shard.row_begin = rng.between(1, shard.row_end - 1);
      plan.shards.push_back(upper);
      shard.device = any_device();
    }
    while (kind > 4 && shard.dim() > 1 && rng.below(2) == 0) {
      Shard first = shard;
      first.column_end = shard.column_begin +=
          static_cast<std::int32_t>(rng.between(1, shard.dim() - 1));
      plan.shards.push_back(first);
      shard.device = any_device();
    }
    plan.shards.push_back(shard);
  }
  canonicalize(plan);
  return plan;
}

/// On the devices of `now` with plenty of memory.
SearchResult replanned(const Workload& workload, PlanEvaluator& evaluator, const Plan& now,
                       const MoveLimit& limit, std::int64_t evaluations = 3000) {
  return replan({workload, test::make_cluster(now.devices, kPlenty)}, evaluator,
                budget(evaluations), now, now, limit);
}

std::int64_t fullest(const Workload& workload, const Plan& plan) {
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  return *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace

BOOST_AUTO_TEST_CASE(plans_keep_to_the_limit_and_memory_and_are_never_dearer) {
  Rng rng(7);
  int cheaper = 0;
  constexpr int kTrials = test::unless_sanitized(60, 12);
  for (int trial = 0; trial < kTrials; ++trial) {
    Workload workload = test::many_tables(rng, rng.between(1, 30));
    for (Table& table : workload.tables) {
      if (rng.below(2) == 0) table.optimizer = Optimizer::kRowwiseAdagrad;
    }
    const auto devices = static_cast<std::int32_t>(rng.between(1, 6));
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, devices);
    const Plan now = random_plan(rng, workload, devices);
    const Cluster cluster =
        test::make_cluster(devices, fullest(workload, now) + rng.between(0, 20'000));
    const auto limit = static_cast<std::int64_t>(rng.uniform() * rng.uniform() *
                                                 static_cast<double>(workload_bytes(workload)));
    const SearchResult found =
        replan({workload, cluster}, evaluator, budget(3000), now, now, {.bytes = limit});
    BOOST_TEST(test::fits(workload, found.plan, cluster));
    BOOST_TEST(moved_bytes(workload, now, found.plan) <= limit);
    const double cost = plan_cost(found.plan, evaluator);
    const double before = plan_cost(now, evaluator);
    BOOST_TEST(cost <= before);
    if (cost < before) ++cheaper;
  }
  BOOST_TEST(cheaper > kTrials / 2);
}

BOOST_AUTO_TEST_CASE(walks_leave_row_shards_and_replicas_as_they_are) {
  Rng rng(8);
  for (int trial = 0; trial < 20; ++trial) {
    const Workload workload = test::many_tables(rng, 12);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    const Plan now = random_plan(rng, workload, 4);
    const SearchResult found = replanned(workload, evaluator, now, {.bytes = kPlenty});
    for (const Shard& shard : now.shards) {
      if (shard.device != kEveryDevice && !has_part_of_rows(workload, shard)) continue;
      const auto& shards = found.plan.shards;
      BOOST_TEST((std::find(shards.begin(), shards.end(), shard) != shards.end()));
    }
  }
}

BOOST_AUTO_TEST_CASE(no_device_gets_a_second_block_of_a_table) {
  Rng rng(15);
  for (int trial = 0; trial < test::unless_sanitized(30, 8); ++trial) {
    const Workload workload = test::many_tables(rng, 10);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 3);
    const Plan now = random_plan(rng, workload, 3);
    const SearchResult found = replanned(workload, evaluator, now, {.bytes = kPlenty});
    const auto blocks = [](const Plan& plan) {
      std::map<std::pair<std::int32_t, std::int32_t>, int> count;  // by table and device
      for (const Shard& shard : plan.shards) ++count[{shard.table, shard.device}];
      return count;
    };
    const auto before = blocks(now);
    for (const auto& [place, count] : blocks(found.plan)) {
      const auto own = before.find(place);
      BOOST_TEST(count <= std::max(1, own == before.end() ? 0 : own->second));
    }
  }
}

BOOST_AUTO_TEST_CASE(tables_get_row_shards_and_become_whole_again_where_the_limit_lets_them) {
  Rng rng(19);
  int dealt = 0;
  int whole_again = 0;
  constexpr int kTrials = test::unless_sanitized(15, 3);
  for (int trial = 0; trial < kTrials; ++trial) {
    Workload workload = test::many_tables(rng, 16);
    for (const std::size_t index : {0, 1}) workload.tables[index] = test::make_table(4000, 8);
    std::vector<float> costs(16, 5);
    costs[1] = 200;  // dearer than all others, in whatever columns
    test::FusedEvaluator evaluator(workload, 4, costs, 0.5 * rng.uniform(), rng.below(2) == 0);
    Plan now{4, {}};
    for (std::int32_t device = 0; device < 4; ++device) {  // table 0, which is cheap, on all
      now.shards.push_back({0, 1000 * device, 1000 * (device + 1), 0, 8, device});
    }
    for (std::int32_t table = 1; table < 16; ++table) {
      now.shards.push_back(whole_table(workload, table, table % 2));
    }
    const Cluster cluster = test::make_cluster(4, kPlenty);
    const auto rows_of = [&](const Plan& plan, std::int32_t table) {
      return std::count_if(plan.shards.begin(), plan.shards.end(), [&](const Shard& shard) {
        return shard.table == table && has_part_of_rows(workload, shard);
      });
    };
    const auto found = [&](const SearchOptions& options, std::int64_t limit) {
      return replan({workload, cluster}, evaluator, options, now, now, {.bytes = limit}).plan;
    };
    const Plan stays = found(budget(20'000), kPlenty);
    BOOST_TEST(rows_of(stays, 0) == 4);
    SearchOptions rows = budget(40'000);
    rows.row_splits = RowSplits::kEven;
    rows.row_parts = 4;
    for (const std::int64_t limit : {workload_bytes(workload) / 4, kPlenty}) {
      const Plan plan = found(rows, limit);
      BOOST_REQUIRE(validate(workload, plan).ok());
      BOOST_TEST(moved_bytes(workload, now, plan) <= limit);
      BOOST_TEST(plan_cost(plan, evaluator) <= plan_cost(now, evaluator));
      if (limit < kPlenty) continue;
      BOOST_TEST(plan_cost(plan, evaluator) < plan_cost(stays, evaluator));
      whole_again += rows_of(plan, 0) == 0;
      dealt += rows_of(plan, 1) == 4;
    }
    MoveLimit whole{.bytes = kPlenty, .whole_tables = true};
    const Plan only_whole = replan({workload, cluster}, evaluator, rows, now, now, whole).plan;
    BOOST_TEST(rows_of(only_whole, 0) == 4);
  }
  BOOST_TEST(dealt == kTrials);
  BOOST_TEST(whole_again == kTrials);
}

BOOST_AUTO_TEST_CASE(only_whole_tables_move_where_that_is_asked_for) {
  Rng rng(16);
  int moved = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const Workload workload = test::many_tables(rng, 12);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    const Plan now = random_plan(rng, workload, 4);
    const SearchResult found =
        replanned(workload, evaluator, now, {.bytes = kPlenty, .whole_tables = true});
    BOOST_TEST(found.plan.shards.size() == now.shards.size());
    for (const Shard& shard : found.plan.shards) {
      if (std::find(now.shards.begin(), now.shards.end(), shard) != now.shards.end()) continue;
      BOOST_TEST((shard == whole_table(workload, shard.table, shard.device)));
      ++moved;
    }
  }
  BOOST_TEST(moved > 20);
}

BOOST_AUTO_TEST_CASE(tables_that_stay_do_not_hinder_a_plan_from_nothing) {
  Rng rng(17);
  for (int trial = 0; trial < 10; ++trial) {
    Workload workload = test::many_tables(rng, 25);
    workload.tables[0] = test::make_table(400, 8);
    workload.tables[0].sharding = {.whole = false, .columns = false, .data_parallel = false};
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    Plan now{4, {}};
    for (std::int32_t device = 0; device < 4; ++device) {
      now.shards.push_back({0, 100 * device, 100 * (device + 1), 0, 8, device});
    }
    for (std::int32_t table = 1; table < 25; ++table) {
      now.shards.push_back(whole_table(workload, table, table % 2));
    }
    const Cluster cluster = test::make_cluster(4, kPlenty);
    const Problem problem{workload, cluster};
    const MoveLimit limit{.bytes = kPlenty};
    const HostLoads hosts(problem, {});
    std::int64_t evaluations = 0;
    const auto fresh = fresh_plan(problem, evaluator, now, limit, hosts, budget(5000), evaluations);
    BOOST_REQUIRE(fresh.has_value());
    const Plan& plan = *fresh;
    BOOST_TEST(test::fits(workload, plan, cluster));
    BOOST_TEST(std::equal(now.shards.begin(), now.shards.begin() + 4, plan.shards.begin()));
    BOOST_TEST(plan_cost(plan, evaluator) < 0.8 * plan_cost(now, evaluator));
  }
}

BOOST_AUTO_TEST_CASE(a_time_limit_that_is_not_reached_changes_nothing) {
  Rng rng(18);
  const Workload workload = test::many_tables(rng, 40);
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
  const Plan now = random_plan(rng, workload, 4);
  const Cluster cluster = test::make_cluster(4, kPlenty);
  const MoveLimit limit{.bytes = workload_bytes(workload) / 3};
  const SearchResult usual =
      replan({workload, cluster}, evaluator, budget(20'000), now, now, limit);
  SearchOptions options = budget(20'000);
  options.time_limit_s = 1000;
  const SearchResult timed = replan({workload, cluster}, evaluator, options, now, now, limit);
  BOOST_TEST((usual.plan == timed.plan));
  BOOST_TEST(!timed.stopped_early);
}

BOOST_AUTO_TEST_CASE(nothing_moves_within_a_limit_of_nothing) {
  Rng rng(9);
  for (int trial = 0; trial < 10; ++trial) {
    const Workload workload = test::many_tables(rng, 10);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 3);
    const Plan now = random_plan(rng, workload, 3);
    const SearchResult found = replanned(workload, evaluator, now, {}, 2000);
    BOOST_TEST(moved_bytes(workload, now, found.plan) == 0);
  }
}

BOOST_AUTO_TEST_CASE(few_whole_tables_are_moved_as_well_as_can_be) {
  Rng rng(10);
  for (int trial = 0; trial < test::unless_sanitized(30, 6); ++trial) {
    Workload workload;
    std::vector<float> costs;
    for (int table = 0; table < 6; ++table) {
      workload.tables.push_back(test::make_table(rng.between(10, 1000), 4));  // 4 stay whole
      costs.push_back(static_cast<float>(1 + 9 * rng.uniform()));
    }
    test::TableEvaluator evaluator(workload, 3, costs);
    Plan now{3, {}};
    for (std::int32_t table = 0; table < 6; ++table) {
      now.shards.push_back(whole_table(workload, table, static_cast<std::int32_t>(rng.below(3))));
    }
    const std::int64_t limit = workload_bytes(workload) / 3;
    double best = plan_cost(now, evaluator);
    Plan plan = now;
    const std::function<void(std::size_t)> place_rest = [&](std::size_t table) {
      if (table == plan.shards.size()) {
        if (moved_bytes(workload, now, plan) <= limit) {
          best = std::min(best, plan_cost(plan, evaluator));
        }
        return;
      }
      for (std::int32_t device = 0; device < 3; ++device) {
        plan.shards[table].device = device;
        place_rest(table + 1);
      }
    };
    place_rest(0);
    const SearchResult found = replanned(workload, evaluator, now, {.bytes = limit}, 20'000);
    BOOST_TEST(plan_cost(found.plan, evaluator) <= best * (1 + 1e-5));
  }
}

BOOST_AUTO_TEST_CASE(without_a_limit_a_plan_is_about_as_good_as_one_from_nothing) {
  Rng rng(11);
  for (int trial = 0; trial < test::unless_sanitized(10, 3); ++trial) {
    const Workload workload = test::many_tables(rng, 25);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    const Cluster cluster = test::make_cluster(4, kPlenty);
    Plan now{4, {}};
    for (std::int32_t table = 0; table < 25; ++table) {
      now.shards.push_back(whole_table(workload, table, table % 2));  // two devices are idle
    }
    const auto fresh = shard_refine({workload, cluster}, evaluator, budget(20'000));
    BOOST_REQUIRE(fresh.ok());
    const SearchResult found =
        replan({workload, cluster}, evaluator, budget(20'000), now, now, {.bytes = kPlenty});
    BOOST_TEST(plan_cost(found.plan, evaluator) <=
               1.02 * test::canonical_cost(fresh->plan, evaluator));
  }
}

BOOST_AUTO_TEST_CASE(a_budget_gives_the_same_plan_on_any_number_of_threads) {
  Rng rng(12);
  const Workload workload = test::many_tables(rng, 40);
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 5);
  const Plan now = random_plan(rng, workload, 5);
  const Cluster cluster = test::make_cluster(5, kPlenty);
  const std::int64_t limit = workload_bytes(workload) / 5;
  const SearchResult alone =
      replan({workload, cluster}, evaluator, budget(20'000), now, now, {.bytes = limit});
  ThreadPool threads(3);
  SearchOptions options = budget(20'000);
  options.pool = &threads;
  const SearchResult together =
      replan({workload, cluster}, evaluator, options, now, now, {.bytes = limit});
  BOOST_TEST((alone.plan == together.plan));
  BOOST_TEST(alone.evaluations == together.evaluations);
}

BOOST_AUTO_TEST_CASE(another_name_for_a_device_moves_nothing) {
  Rng rng(13);
  const Workload workload = test::many_tables(rng, 30);
  Plan now{6, {}};
  for (std::int32_t table = 0; table < 30; ++table) {
    Shard shard = whole_table(workload, table, static_cast<std::int32_t>(rng.below(6)));
    Shard first = shard;
    first.column_end = shard.column_begin = 4;
    shard.device = static_cast<std::int32_t>(rng.below(6));
    now.shards.insert(now.shards.end(), {first, shard});
  }
  canonicalize(now);
  Plan renamed = now;
  for (Shard& shard : renamed.shards) shard.device = (shard.device + 2) % 6;
  BOOST_TEST((brought_near(renamed, now, workload, {}, true) == now));
  BOOST_TEST((brought_near(renamed, now, workload, {}, false) != now));
}

BOOST_AUTO_TEST_CASE(columns_stay_where_they_are_in_whatever_order_a_plan_has_them) {
  Workload workload;
  workload.tables = {test::make_table(10, 24)};
  const auto plan_of_columns = [](std::vector<std::pair<std::int32_t, std::int32_t>> dims) {
    Plan plan{3, {}};
    std::int32_t column = 0;
    for (const auto& [dim, device] : dims) {
      plan.shards.push_back({0, 0, 10, column, column + dim, device});
      column += dim;
    }
    return plan;
  };
  const Plan now = plan_of_columns({{4, 2}, {12, 0}, {8, 1}});
  const Plan other = plan_of_columns({{8, 1}, {4, 2}, {12, 0}});
  BOOST_TEST((brought_near(other, now, workload, {}, false) == now));
}

BOOST_AUTO_TEST_CASE(tables_move_only_to_devices_that_they_may_be_on) {
  Rng rng(14);
  for (int trial = 0; trial < 20; ++trial) {
    Workload workload = test::many_tables(rng, 12);
    for (std::size_t table = 0; table < 6; ++table)
      workload.tables[table].devices = DeviceSet({1, 2});
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    Plan now{4, {}};
    for (std::int32_t table = 0; table < 12; ++table) {
      now.shards.push_back(whole_table(workload, table, 1 + table % 2));
    }
    const SearchResult found = replanned(workload, evaluator, now, {.bytes = kPlenty}, 5000);
    BOOST_TEST(moved_bytes(workload, now, found.plan) > 0);
    for (const Shard& shard : found.plan.shards) {
      if (shard.table < 6) BOOST_TEST((shard.device == 1 || shard.device == 2));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::search
