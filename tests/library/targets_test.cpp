// Plans that are searched for a trainer's file.
#include <cstdint>
#include <string>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

}  // namespace

BOOST_AUTO_TEST_SUITE(targets)

BOOST_AUTO_TEST_CASE(hugectr_takes_plans_of_equal_columns) {
  // The cheapest plan has blocks of 16 and 32 columns.
  Workload workload = must(Workload::create(65536));
  const Table table{.name = "a", .rows = 1'000'000, .dim = 128, .pooling_factor = 3};
  BOOST_REQUIRE(workload.add(table).ok());
  const Cluster cluster{.devices = 7, .memory_bytes = 219'000'000};
  PlanOptions options{.evaluations = 2000, .threads = 1, .row_splits = NEUROSHARD_ROW_SPLITS_OFF};
  const Plan any = must(make_planner().plan(workload, cluster, options));
  BOOST_TEST(!any.export_as(workload, "hugectr").ok());
  options.equal_columns = true;
  const Plan equal = must(make_planner().plan(workload, cluster, options));
  BOOST_TEST(equal.export_as(workload, "hugectr").ok());
  BOOST_TEST(equal.shards().size() == 4U);
}

BOOST_AUTO_TEST_CASE(plans_for_a_format_can_be_exported_in_it) {
  // The cheapest plans have row halves, or blocks of 16 and 32 columns, or columns to be joined.
  Workload workload = must(Workload::create(65536));
  for (const std::int32_t dim : {128, 12}) {
    const Table table{
        .name = "a" + std::to_string(dim), .rows = 10'000'000, .dim = dim, .pooling_factor = 3};
    BOOST_REQUIRE(workload.add(table).ok());
  }
  const Cluster cluster{.devices = 5, .memory_bytes = 1'624'000'000};
  PlanOptions options{.evaluations = 1000, .threads = 1, .row_splits = NEUROSHARD_ROW_SPLITS_ANY};
  const Planner planner = make_planner();
  for (const std::string name : {"torchrec", "hugectr"}) {
    options.target = name;
    const Plan plan = must(planner.plan(workload, cluster, options));
    const std::string text = must(plan.export_as(workload, name));
    BOOST_TEST(plan.check(workload, cluster).ok(), name);
    // What is told of the costs is of the file.
    const Plan back = must(Plan::import_from(text, name, workload, cluster.devices));
    BOOST_TEST(must(planner.simulate(workload, back)).cost_ms() == plan.cost_ms(), name);
  }
}

BOOST_AUTO_TEST_CASE(a_search_without_a_plan_for_its_format_says_what_would_do) {
  // Half of 12 columns are 8 and 4, rows stay whole, and whole the table does not fit.
  Workload workload = must(Workload::create(65536));
  const Table table{.name = "hot", .rows = 1'000'000, .dim = 12, .pooling_factor = 100};
  BOOST_REQUIRE(workload.add(table).ok());
  const Cluster cluster{.devices = 2, .memory_bytes = 40'000'000};
  PlanOptions options{.evaluations = 500,
                      .threads = 1,
                      .row_splits = NEUROSHARD_ROW_SPLITS_OFF,
                      .target = "hugectr"};
  const Planner planner = make_planner();
  const Result<Plan> none = planner.plan(workload, cluster, options);
  BOOST_TEST_REQUIRE(!none);
  BOOST_TEST(none.error().status == NEUROSHARD_INFEASIBLE);
  BOOST_TEST(
      none.error().message.ends_with("45.78MiB of memory per device would do, with whole tables"),
      none.error().message);
  options.algorithm = "refine";  // and no other
  const Result<Plan> refused = planner.plan(workload, cluster, options);
  BOOST_TEST_REQUIRE(!refused);
  BOOST_TEST(refused.error().status == NEUROSHARD_INVALID_INPUT);
  BOOST_TEST(refused.error().message.find("equal width") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(row_splits_that_the_target_has_no_place_for_are_told) {
  const Workload workload = make_workload(3);
  Log log;
  const neuroshard_planner_options logged = log.options();
  const Planner networks = must(Planner::create(must(CostModels::shipped()), &logged));
  const Planner formula = must(Planner::create(must(CostModels::shipped("torchrec")), &logged));
  const auto warned = [&](const Planner& planner, const std::string& target, std::int32_t rows) {
    const PlanOptions options{
        .evaluations = 50, .threads = 1, .row_splits = rows, .target = target};
    BOOST_TEST(planner.plan(workload, cluster_of(2), options).ok());
    const std::string start = "options.row_splits: found ";
    const std::size_t at = log.lines.find(start);
    const std::string line =
        at == std::string::npos ? "" : log.lines.substr(at, log.lines.find('\n', at) - at);
    log.lines.clear();
    return line;
  };
  const std::string none = ", the target has no place for more than ";
  BOOST_TEST(warned(networks, "torchrec", NEUROSHARD_ROW_SPLITS_ANY) ==
             "options.row_splits: found any" + none + "even");
  BOOST_TEST(warned(networks, "hugectr", NEUROSHARD_ROW_SPLITS_ANY) ==
             "options.row_splits: found any" + none + "even");
  // Nobody has asked for them, or the target has a place, or the formula knows no others.
  BOOST_TEST(warned(networks, "hugectr", NEUROSHARD_ROW_SPLITS_DEFAULT).empty());
  BOOST_TEST(warned(networks, "hugectr", NEUROSHARD_ROW_SPLITS_OFF).empty());
  for (const std::string target : {"torchrec", "hugectr"}) {
    BOOST_TEST(warned(networks, target, NEUROSHARD_ROW_SPLITS_EVEN).empty());
    BOOST_TEST(warned(formula, target, NEUROSHARD_ROW_SPLITS_ANY).empty());
  }
  BOOST_TEST(warned(networks, "", NEUROSHARD_ROW_SPLITS_ANY).empty());
}

BOOST_AUTO_TEST_SUITE_END()
