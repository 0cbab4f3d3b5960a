// What the library says of a plan's tables, and how good plans can be at best.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/library/refusals.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

Planner formula() { return must(Planner::create(must(CostModels::shipped("torchrec")))); }

/// The plan with other shards of one table.
Plan with_layout(const Workload& workload, const Plan& plan, std::int32_t table,
                 const std::vector<Shard>& layout) {
  std::vector<Shard> shards = plan.shards();
  std::erase_if(shards, [&](const Shard& shard) { return shard.table == table; });
  shards.insert(shards.end(), layout.begin(), layout.end());
  return must(Plan::create(plan.info().devices, workload.batch_size(), shards));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(explain)

BOOST_AUTO_TEST_CASE(each_table_has_its_shards_and_a_next_best_layout_that_costs_what_it_says) {
  const Workload workload = make_workload(5);
  for (const Planner& planner : {make_planner(), formula()}) {
    const Plan plan = must(planner.simulate(workload, whole_tables(workload, 3)));
    const Explanation explanation = must(planner.explain(workload, plan, cluster_of(3)));
    BOOST_REQUIRE(explanation.table_count() == 5U);
    double last = 1e300;
    for (std::size_t k = 0; k < 5; ++k) {
      const neuroshard_table_explanation own = must(explanation.table(k));
      const Table table = must(workload.table(static_cast<std::size_t>(own.table)));
      BOOST_REQUIRE(own.shard_count == 1U);
      BOOST_TEST(own.shards->table == own.table);
      BOOST_TEST(own.shards->device == own.table % 3);
      BOOST_TEST(own.memory_bytes == table.rows * table.dim * 4);
      BOOST_TEST(own.alone_ms > 0);
      BOOST_TEST(own.alone_ms <= last);  // from the table that costs most on
      last = own.alone_ms;
      BOOST_TEST(own.considered > 0);
      BOOST_REQUIRE(own.next_best_count > 0U);
      const Plan other = with_layout(workload, plan, own.table,
                                     {own.next_best, own.next_best + own.next_best_count});
      const double cost = must(planner.simulate(workload, other)).cost_ms();
      BOOST_TEST(cost == own.next_best_ms, boost::test_tools::tolerance(1e-12));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_tables_asked_for_come_in_their_order) {
  const Workload workload = make_workload(6);
  const Planner planner = make_planner();
  const Plan plan = whole_tables(workload, 2);
  const Explanation two =
      must(planner.explain(workload, plan, cluster_of(2), {.tables = {4, 1, 4}}));
  BOOST_REQUIRE(two.table_count() == 3U);
  BOOST_TEST(must(two.table(0)).table == 4);
  BOOST_TEST(must(two.table(1)).table == 1);
  BOOST_TEST(must(two.table(2)).table == 4);
  BOOST_TEST(must(planner.explain(workload, plan, cluster_of(2), {.most = 2})).table_count() == 2U);
}

BOOST_AUTO_TEST_CASE(layouts_beyond_the_memory_are_left_out) {
  const Workload workload = make_workload(4);
  const Planner planner = make_planner();
  const Plan plan = must(planner.simulate(workload, whole_tables(workload, 2)));
  std::int64_t fullest = 0;
  for (const DeviceCost& device : plan.device_costs()) {
    fullest = std::max(fullest, device.memory_bytes);
  }
  const Cluster tight{.devices = 2, .memory_bytes = fullest};
  const auto considered = [&](const Cluster& cluster) {
    const Explanation explanation = must(planner.explain(workload, plan, cluster));
    std::int64_t all = 0;
    for (std::size_t k = 0; k < explanation.table_count(); ++k) {
      all += must(explanation.table(k)).considered;
    }
    return all;
  };
  BOOST_TEST(considered(tight) < considered(cluster_of(2)));
  const Result<Explanation> none =
      planner.explain(workload, plan, {.devices = 2, .memory_bytes = fullest - 1});
  BOOST_REQUIRE(!none);
  BOOST_TEST(none.error().status == NEUROSHARD_INFEASIBLE);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_explained_is_refused) {
  const Workload workload = make_workload(3);
  const Planner planner = make_planner();
  const Plan plan = whole_tables(workload, 2);
  const auto message = [&](const Cluster& cluster, const neuroshard::ExplainOptions& options) {
    const Result<Explanation> refused = planner.explain(workload, plan, cluster, options);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().status == NEUROSHARD_INVALID_INPUT);
    return refused.error().message;
  };
  BOOST_TEST(message(cluster_of(3), {}) == "plan: found one for 2 devices, expected 3");
  BOOST_TEST(message(cluster_of(2), {.tables = {3}}) == "table: found 3, expected 0 to 2");
  BOOST_TEST(message(cluster_of(2), {.tables = {-1}}) == "table: found -1, expected 0 to 2");
  const ErrorHandle error;
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_explain_options options{};
  options.struct_size = sizeof options;
  neuroshard_explanation* explanation = nullptr;
  for (const std::size_t count : {std::size_t{4}, SIZE_MAX}) {
    options.table_count = count;
    EXPECT_REFUSED(neuroshard_planner_explain(planner.get(), workload.get(), plan.get(), &cluster,
                                              &options, &explanation, error.handle),
                   "options.table_count: found");
  }
  options.table_count = 1;
  EXPECT_REFUSED(neuroshard_planner_explain(planner.get(), workload.get(), plan.get(), &cluster,
                                            &options, &explanation, error.handle),
                 "options.tables: found NULL");
  const Explanation two = must(planner.explain(workload, plan, cluster_of(2), {.most = 2}));
  BOOST_TEST(two.table(2).error().message == "index: found 2, expected less than 2");
}

BOOST_AUTO_TEST_CASE(it_tells_how_far_it_is_and_can_be_ended) {
  const Workload workload = make_workload(6);
  const Planner planner = make_planner();
  const Plan plan = whole_tables(workload, 4);
  const Cancellation cancellation = must(Cancellation::create());
  int updates = 0;
  neuroshard::ExplainOptions options{.cancellation = &cancellation};
  options.progress = [&](std::string_view, std::int64_t done, std::int64_t total,
                         std::string_view) {
    BOOST_TEST(done <= total);
    ++updates;
  };
  BOOST_TEST(planner.explain(workload, plan, cluster_of(4), options).ok());
  BOOST_TEST(updates > 0);
  cancellation.cancel();
  const Result<Explanation> ended = planner.explain(workload, plan, cluster_of(4), options);
  BOOST_REQUIRE(!ended);
  BOOST_TEST(ended.error().status == NEUROSHARD_CANCELLED);
}

BOOST_AUTO_TEST_CASE(no_plan_of_the_formula_costs_less_than_the_bound) {
  const Workload workload = make_workload(7);
  const Planner planner = formula();
  const Cluster cluster = cluster_of(4);
  PlanOptions options{.evaluations = 3000, .threads = 1};
  double last = 1e300;
  for (const std::int32_t rows : {NEUROSHARD_ROW_SPLITS_OFF, NEUROSHARD_ROW_SPLITS_EVEN}) {
    options.row_splits = rows;
    const double bound = must(planner.lower_bound(workload, cluster, options));
    BOOST_TEST(bound > 0);
    BOOST_TEST(bound <= last);  // with more ways to split, no more
    last = bound;
    const Plan plan = must(planner.plan(workload, cluster, options));
    BOOST_TEST(plan.cost_ms() >= bound);
    const neuroshard_plan_info info = plan.info();
    BOOST_TEST(info.lower_bound_ms > 0);
    BOOST_TEST(info.lower_bound_ms <= bound);  // a search takes less time for its own
    const Plan read = must(Plan::parse(must(plan.export_as(workload, "json")), "plan.json"));
    BOOST_TEST(read.info().lower_bound_ms == info.lower_bound_ms);
    const Plan costed = must(planner.simulate(workload, read));
    BOOST_TEST(costed.info().lower_bound_ms == 0);
    BOOST_TEST(must(costed.export_as(workload, "json")).find("lower_bound") == std::string::npos);
  }
  // As wide as the target has a place for.
  for (const std::string target : {"torchrec", "hugectr"}) {
    BOOST_TEST(must(planner.lower_bound(workload, cluster, {.target = target})) == last);
  }
  BOOST_TEST(must(make_planner().lower_bound(workload, cluster)) == 0);
  BOOST_TEST(!planner.lower_bound(must(Workload::create()), cluster));
}

BOOST_AUTO_TEST_CASE(a_plan_says_what_its_search_had_no_time_for) {
  const Workload workload = make_workload(200);
  const Plan plan =
      must(make_planner().plan(workload, cluster_of(16), {.time_limit_s = 1e-3, .threads = 1}));
  const neuroshard_plan_info info = plan.info();
  BOOST_TEST(info.skipped.size > 0U);
  BOOST_TEST(info.skipped.data[info.skipped.size] == '\0');
  const Plan all = must(make_planner().plan(make_workload(2), cluster_of(2), {.evaluations = 500}));
  BOOST_TEST(all.info().skipped.size == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
