// Hot rows of tables on every device, from a program: what they save, what they may take, what a
// plan says of them, and where nothing comes of them.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/library/refusals.h"
#include "tests/support/sanitized.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

constexpr std::int32_t kDevices = 64;

/// Skewed tables with one lookup a sample, which gain most.
Workload one_hot_tables(int count) {
  Workload workload = must(Workload::create(65536));
  for (int k = 0; k < count; ++k) {
    const Table table{.name = "table " + std::to_string(k),
                      .rows = 1'000'000 + 27'103 * k,
                      .dim = 64,
                      .pooling_factor = 1,
                      .zipf_alpha = 1.05};
    BOOST_REQUIRE(workload.add(table).ok());
  }
  return workload;
}

const Workload& tables() {
  static const Workload own = one_hot_tables(150);
  return own;
}

Cluster many_hosts() { return {.devices = kDevices, .memory_bytes = std::int64_t{16} << 30}; }

Planner planner_by(const std::string& models, const neuroshard_planner_options* options = nullptr) {
  return must(Planner::create(must(CostModels::shipped(models)), options));
}

Plan plan_with(bool hot, std::int64_t memory = 0) {
  return must(planner_by("h100_sim")
                  .plan(tables(), many_hosts(),
                        {.evaluations = test::unless_sanitized(10'000, 2000),
                         .threads = 1,
                         .hot_rows = hot,
                         .hot_memory_bytes = memory}));
}

const Plan& hot_plan() {
  static const Plan own = plan_with(true);
  return own;
}

/// Bytes of rows of 64 columns in fp32 with their gradients; SGD keeps nothing beside them.
std::int64_t bytes_of(const std::vector<HotRows>& hot) {
  std::int64_t rows = 0;
  for (const HotRows& own : hot) rows += own.rows;
  return rows * 64 * 4 * 2;
}

/// Options of a short search.
neuroshard_plan_options asked(std::int32_t hot_rows, std::int64_t hot_memory_bytes = 0) {
  neuroshard_plan_options options{};
  options.struct_size = sizeof options;
  options.evaluations = 100;
  options.threads = 1;
  options.hot_rows = hot_rows;
  options.hot_memory_bytes = hot_memory_bytes;
  return options;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hot_rows)

BOOST_AUTO_TEST_CASE(they_save_time_and_the_plan_says_which_they_are) {
  const Plan without = plan_with(false);
  BOOST_TEST(without.info().hot_table_count == 0u);
  BOOST_TEST(without.hot_rows().empty());
  BOOST_TEST(hot_plan().info().cost_ms < 0.8 * without.info().cost_ms);
  BOOST_TEST(hot_plan().check(tables(), many_hosts()).ok());
  const std::vector<HotRows> hot = hot_plan().hot_rows();
  BOOST_TEST(hot.size() > 75u);
  for (std::size_t k = 0; k < hot.size(); ++k) {
    BOOST_TEST(hot[k].rows > 0);
    BOOST_TEST(hot[k].rows < must(tables().table(static_cast<std::size_t>(hot[k].table))).rows);
    BOOST_TEST(hot[k].reserved == 0);
    if (k > 0) BOOST_TEST(hot[k].table > hot[k - 1].table);
  }
}

BOOST_AUTO_TEST_CASE(trainers_have_those_that_their_models_run) {
  const auto planned = [](const std::string& target) {
    return must(planner_by("h100_sim")
                    .plan(tables(), many_hosts(),
                          {.evaluations = 2000, .threads = 1, .target = target, .hot_rows = true}));
  };
  BOOST_TEST(planned("torchrec").info().hot_table_count > 0u);
  BOOST_TEST(planned("hugectr").info().hot_table_count == 0u);
}

BOOST_AUTO_TEST_CASE(they_are_those_of_its_file_which_is_read_back) {
  const std::string json = must(hot_plan().export_as(tables()));
  std::size_t at = json.find("\"hot_rows\": [");
  BOOST_TEST_REQUIRE(at != std::string::npos);
  for (const HotRows& own : hot_plan().hot_rows()) {
    at = json.find("{\"table\": " + std::to_string(own.table) + ",", at);
    BOOST_TEST_REQUIRE(at != std::string::npos);
    const std::string entry = json.substr(at, json.find('}', at) - at);
    BOOST_TEST((entry.find("\"rows\": " + std::to_string(own.rows)) != std::string::npos), entry);
  }
  const Plan read = must(Plan::parse(json, "plan.json"));
  BOOST_TEST(read.info().hot_table_count == hot_plan().info().hot_table_count);
  const Plan costed = must(planner_by("h100_sim").simulate(tables(), read));
  BOOST_TEST(costed.info().cost_ms == hot_plan().info().cost_ms);
  BOOST_TEST(must(costed.export_as(tables())).find("\"hot_rows\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(they_keep_to_their_memory) {
  constexpr std::int64_t kLittle = 200'000;
  BOOST_TEST(bytes_of(hot_plan().hot_rows()) > kLittle);
  const Plan little = plan_with(true, kLittle);
  BOOST_TEST(bytes_of(little.hot_rows()) <= kLittle);
  BOOST_TEST(little.info().cost_ms >= hot_plan().info().cost_ms);
  BOOST_TEST(plan_with(true, 1).hot_rows().empty());
  const std::vector<HotRows> all =
      plan_with(true, std::numeric_limits<std::int64_t>::max()).hot_rows();
  BOOST_TEST(bytes_of(all) == bytes_of(hot_plan().hot_rows()));
}

BOOST_AUTO_TEST_CASE(where_nothing_comes_of_them_a_warning_tells) {
  const auto warned = [](const std::string& models, PlanOptions options) {
    Log log;
    const neuroshard_planner_options logged = log.options();
    const Workload workload = make_workload(3);
    options.evaluations = 50;
    options.threads = 1;
    const Plan plan = must(planner_by(models, &logged).plan(workload, cluster_of(2), options));
    BOOST_TEST(plan.hot_rows().empty());
    const std::size_t at = log.lines.find("options.hot_");
    return at == std::string::npos ? "" : log.lines.substr(at, log.lines.find('\n', at) - at);
  };
  const std::string nothing = "options.hot_rows: changes nothing, ";
  BOOST_TEST(warned("torchrec", {.hot_rows = true}) == nothing + "torchrec knows no hot rows");
  BOOST_TEST(warned("h100_sim", {.target = "hugectr", .hot_rows = true}) ==
             nothing + "the target has no place for such");
  BOOST_TEST(warned("h100_sim", {.algorithm = "neuroshard", .hot_rows = true}) ==
             nothing + "neuroshard finds none");
  BOOST_TEST(warned("h100_sim", {.hot_memory_bytes = 100}) ==
             "options.hot_memory_bytes: changes nothing without options.hot_rows");
  BOOST_TEST(warned("h100_sim", {.target = "torchrec"}).empty());
}

BOOST_AUTO_TEST_CASE(plans_with_them_are_refused_where_they_have_no_place) {
  const auto says = [](const auto& result, std::string_view words) {
    BOOST_TEST_REQUIRE(!result);
    BOOST_TEST(result.error().status == NEUROSHARD_INVALID_INPUT);
    BOOST_TEST((result.error().message.find(words) != std::string::npos), result.error().message);
  };
  says(hot_plan().export_as(tables(), "torchrec"), "torchrec has no place for them");
  says(planner_by("torchrec").simulate(tables(), hot_plan()), "networks alone have a cost");
  says(planner_by("h100_sim")
           .replan(tables(), many_hosts(), hot_plan(), 1'000'000, {.evaluations = 100}),
       "replan cannot keep them, plan anew");
}

BOOST_AUTO_TEST_CASE(a_replan_finds_none) {
  const ErrorHandle error;
  const Planner planner = planner_by("h100_sim");
  const Workload workload = make_workload(4);
  const Plan now = whole_tables(workload, 2);
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_plan* plan = nullptr;
  const auto replan = [&](const neuroshard_plan_options& options) {
    return neuroshard_planner_replan(planner.get(), workload.get(), &cluster, now.get(), 0,
                                     &options, &plan, error.handle);
  };
  EXPECT_REFUSED(replan(asked(1)), "options.hot_rows: found 1, expected 0");
  EXPECT_REFUSED(replan(asked(-1)), "options.hot_rows: found -1, expected 0");
  EXPECT_REFUSED(replan(asked(0, 5)), "options.hot_memory_bytes: found 5, expected 0");
  BOOST_TEST(plan == nullptr);
}

BOOST_AUTO_TEST_CASE(arrays_that_are_too_small_and_callers_of_older_headers) {
  const ErrorHandle error;
  const std::size_t count = hot_plan().info().hot_table_count;
  std::vector<HotRows> some(count);
  EXPECT_REFUSED(
      neuroshard_plan_get_hot_rows(hot_plan().get(), some.data(), count - 1, error.handle),
      "capacity: found " + std::to_string(count - 1) + ", expected at least");
  EXPECT_REFUSED(neuroshard_plan_get_hot_rows(hot_plan().get(), nullptr, count, error.handle),
                 "tables: found NULL");
  const Plan none = whole_tables(make_workload(2), 2);
  BOOST_TEST(neuroshard_plan_get_hot_rows(none.get(), nullptr, 0, error.handle) == NEUROSHARD_OK);
  // What an older header does not have is not looked at.
  neuroshard_plan_options older = asked(1, -7);
  older.struct_size = offsetof(neuroshard_plan_options, hot_rows);
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_plan* plan = nullptr;
  BOOST_TEST(neuroshard_planner_plan(planner_by("h100_sim").get(), make_workload(2).get(), &cluster,
                                     &older, &plan, error.handle) == NEUROSHARD_OK);
  neuroshard_plan_destroy(plan);
}

BOOST_AUTO_TEST_SUITE_END()
