// Plans near one that runs, through the library.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

/// All tables on the first of `devices`.
Plan crowded(const Workload& workload, std::int32_t devices) {
  return whole_tables(workload, devices, 1);
}

/// With the columns of the first table in two shards of unequal widths on the first device.
Plan with_two_blocks(const Workload& workload, std::int32_t devices) {
  std::vector<Shard> shards = crowded(workload, devices).shards();
  Shard second = shards.front();
  shards.front().column_end = 4;
  second.column_begin = shards.front().column_end;
  shards.insert(shards.begin() + 1, second);
  return must(Plan::create(devices, workload.batch_size(), shards));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(replan)

BOOST_AUTO_TEST_CASE(a_plan_near_one_that_runs_is_cheaper_within_the_limit) {
  const Workload workload = make_workload(12);
  const Planner planner = make_planner();
  const Plan now = crowded(workload, 4);
  const double before = must(planner.simulate(workload, now)).cost_ms();
  const PlanOptions options{.evaluations = 3000};
  double last = before;
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{5'000'000}, INT64_MAX}) {
    const Plan next = must(planner.replan(workload, cluster_of(4), now, limit, options));
    const std::int64_t moved = must(next.moved_bytes(workload, now));
    BOOST_TEST(moved <= limit);
    BOOST_TEST((moved > 0) == (limit > 0));
    BOOST_TEST(next.cost_ms() <= last);
    BOOST_TEST(must(planner.simulate(workload, next)).cost_ms() == next.cost_ms());
    BOOST_TEST(next.check(workload, cluster_of(4)).ok());
    last = next.cost_ms();
  }
  BOOST_TEST(last < before);
}

BOOST_AUTO_TEST_CASE(for_hugectr_only_whole_tables_move) {
  const Workload workload = make_workload(12);
  const Planner planner = make_planner();
  const Plan now = crowded(workload, 4);
  const PlanOptions options{.evaluations = 1000, .target = "hugectr"};
  const Plan next = must(planner.replan(workload, cluster_of(4), now, INT64_MAX, options));
  BOOST_TEST(next.cost_ms() < must(planner.simulate(workload, now)).cost_ms());
  BOOST_TEST(next.shards().size() == workload.table_count());
  BOOST_TEST(next.export_as(workload, "hugectr").ok());
}

BOOST_AUTO_TEST_CASE(whole_tables_move_where_that_is_asked_for) {
  Workload workload = make_workload(3);
  BOOST_REQUIRE(
      workload.add({.name = "hot", .rows = 1'000'000, .dim = 128, .pooling_factor = 100}).ok());
  const Planner planner = make_planner();
  const Plan now = crowded(workload, 4);
  PlanOptions options{.evaluations = 20'000};
  const Plan cut = must(planner.replan(workload, cluster_of(4), now, INT64_MAX, options));
  BOOST_TEST(cut.shards().size() > workload.table_count());
  options.whole_tables = true;
  const Plan whole = must(planner.replan(workload, cluster_of(4), now, INT64_MAX, options));
  BOOST_TEST(whole.shards().size() == workload.table_count());
  BOOST_TEST(whole.cost_ms() < must(planner.simulate(workload, now)).cost_ms());
  const Result<Plan> refused = planner.plan(workload, cluster_of(4), options);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message ==
             "options.whole_tables: found 1, expected 0: tables say it themselves "
             "(forbidden_sharding)");
}

BOOST_AUTO_TEST_CASE(a_plan_for_a_file_goes_on_from_what_that_file_holds) {
  const Workload workload = make_workload(6);
  Log log;
  const neuroshard_planner_options logged = log.options();
  const Planner planner = must(Planner::create(must(CostModels::shipped()), &logged));
  const Plan now = with_two_blocks(workload, 4);
  PlanOptions options{.evaluations = 500, .threads = 1};
  BOOST_TEST(planner.replan(workload, cluster_of(4), now, 0, options).ok());
  BOOST_TEST(!log.take("joined"));
  for (const std::string target : {"torchrec", "hugectr"}) {
    options.target = target;
    const Plan next = must(planner.replan(workload, cluster_of(4), now, 0, options));
    BOOST_TEST(log.take(target + " has blocks of a table that are on one device joined: that is "
                                 "the plan that runs\n"));
    BOOST_TEST(next.shards().size() == 6U);
    const std::string file = must(next.export_as(workload, target));
    const Plan back = must(Plan::import_from(file, target, workload, 4));
    BOOST_TEST(must(planner.simulate(workload, back)).cost_ms() == next.cost_ms());
  }
}

BOOST_AUTO_TEST_CASE(a_plan_that_no_file_of_the_target_holds_is_refused) {
  const Workload workload = make_workload(2);
  const Planner planner = must(Planner::create(must(CostModels::shipped("torchrec"))));
  std::vector<Shard> shards = crowded(workload, 4).shards();
  for (Shard& shard : shards) shard.device = NEUROSHARD_EVERY_DEVICE;
  const Plan everywhere = must(Plan::create(4, workload.batch_size(), shards));
  PlanOptions options{.evaluations = 200, .threads = 1};
  BOOST_TEST(planner.replan(workload, cluster_of(4), everywhere, 0, options).ok());
  options.target = "hugectr";
  const Result<Plan> refused = planner.replan(workload, cluster_of(4), everywhere, 0, options);
  const Result<std::string> exported = everywhere.export_as(workload, "hugectr");
  BOOST_TEST(refused.ok() == exported.ok());
  options.target = "torchrec";
  BOOST_TEST(planner.replan(workload, cluster_of(4), everywhere, 0, options).ok());
}

BOOST_AUTO_TEST_CASE(lookups_may_be_those_of_another_batch) {
  const Plan now = crowded(make_workload(6), 2);
  Workload other = must(Workload::create(8192));
  for (std::size_t i = 0; i < 6; ++i)
    BOOST_REQUIRE(other.add(must(make_workload(6).table(i))).ok());
  const Plan next =
      must(make_planner().replan(other, cluster_of(2), now, INT64_MAX, {.evaluations = 500}));
  BOOST_TEST(next.info().batch_size == 8192);
}

BOOST_AUTO_TEST_CASE(tables_that_the_plan_lacks_are_new) {
  const Plan now = crowded(make_workload(5), 4);
  const Workload more = make_workload(7);
  const Plan next = must(make_planner().replan(more, cluster_of(4), now, 0, {.evaluations = 500}));
  BOOST_TEST(next.check(more, cluster_of(4)).ok());
  for (const Shard& shard : next.shards()) {
    if (shard.table < 5) BOOST_TEST(shard.device == 0);
  }
}

BOOST_AUTO_TEST_CASE(tables_are_those_of_their_names) {
  const Workload workload = make_workload(5);
  Log log;
  const neuroshard_planner_options logged = log.options();
  const Planner planner = must(Planner::create(must(CostModels::shipped()), &logged));
  const PlanOptions options{.evaluations = 500, .threads = 1};
  const Plan now = must(planner.plan(workload, cluster_of(4), options));
  std::map<std::string, std::vector<std::int32_t>> devices;
  for (const Shard& shard : now.shards()) {
    devices[must(workload.table(static_cast<std::size_t>(shard.table))).name].push_back(
        shard.device);
  }
  // Turned around, without the last, with a new one first.
  Workload other = must(Workload::create());
  BOOST_REQUIRE(other.add({.name = "new", .rows = 1000, .dim = 16, .pooling_factor = 1}).ok());
  for (std::size_t index = 4; index-- > 0;) {
    BOOST_REQUIRE(other.add(must(workload.table(index))).ok());
  }
  const Plan next = must(planner.replan(other, cluster_of(4), now, 0, options));
  BOOST_TEST(log.take("now: table 'table 4' is not among the tables given: it is dropped\n"));
  BOOST_TEST(must(next.moved_bytes(other, now)) == 0);
  std::map<std::string, std::vector<std::int32_t>> kept;
  for (const Shard& shard : next.shards()) {
    kept[must(other.table(static_cast<std::size_t>(shard.table))).name].push_back(shard.device);
  }
  for (const std::string name : {"table 0", "table 1", "table 2", "table 3"}) {
    BOOST_TEST(kept[name] == devices[name], name);
  }
  BOOST_TEST(kept.count("new") == 1u);
  // The same plan of the same tables in another order; one of other tables is none.
  Workload turned = must(Workload::create());
  for (std::size_t index = 5; index-- > 0;) {
    BOOST_REQUIRE(turned.add(must(workload.table(index))).ok());
  }
  const Plan same = must(planner.simulate(turned, now));
  BOOST_TEST(same.cost_ms() == now.cost_ms(), boost::test_tools::tolerance(1e-6));
  BOOST_TEST(must(same.moved_bytes(turned, now)) == 0);
  BOOST_TEST(now.check(turned, cluster_of(4)).ok());
  BOOST_TEST(must(now.export_as(turned, "csv")) == must(same.export_as(turned, "csv")));
  const Result<Plan> refused = planner.simulate(other, now);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message == "plan: table 'table 4' is not among the tables given");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_replanned_is_refused) {
  const Workload workload = make_workload(4);
  const Planner planner = make_planner();
  const Plan now = crowded(workload, 4);
  const auto message = [&](const Workload& tables, const Cluster& cluster, std::int64_t limit) {
    const Result<Plan> refused = planner.replan(tables, cluster, now, limit);
    BOOST_REQUIRE(!refused);
    return refused.error().message;
  };
  BOOST_TEST(message(workload, cluster_of(4), -1) ==
             "move limit: found -1 bytes, expected 0 or more");
  BOOST_TEST(message(workload, cluster_of(3), 1) == "devices: found 3, expected the plan's 4");
  BOOST_TEST(message(make_workload(3), cluster_of(4), 1).find("table 3") != std::string::npos);
  BOOST_TEST(
      planner.replan(workload, {.devices = 4, .memory_bytes = 1000}, now, 1).error().status ==
      NEUROSHARD_INFEASIBLE);
  BOOST_TEST(!crowded(workload, 3).moved_bytes(workload, now).ok());
}

BOOST_AUTO_TEST_SUITE_END()
