// Plans where tables may be in the memory of hosts: on devices, there, whatever is cheaper.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "engine/planner/search_budget.h"
#include "io/plans/plan_tables.h"
#include "search/equal_columns.h"
#include "tests/support/offload_example.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(host_memory)

namespace {

Table random_table(Rng& rng, int index) {
  Table table;
  table.name = std::to_string(index);
  table.rows = rng.between(10, 300'000);
  table.dim = static_cast<std::int32_t>(32 * rng.between(1, 8));
  table.pooling_factor = static_cast<double>(rng.between(0, 40));
  table.optimizer = rng.below(2) == 0 ? Optimizer::kSgd : Optimizer::kAdam;
  table.reuse_histogram[0] = table.pooling_factor > 0 ? 1 : 0;
  table.pooled = rng.below(4) > 0;
  if (rng.below(3) == 0) table.sharding.min_columns = 64;
  if (rng.below(4) == 0) table.kernels.fused = false;
  return table;
}

Workload random_workload(Rng& rng) {
  Workload workload;
  workload.batch_size = 4096;
  const std::int64_t count = rng.between(1, 5);
  for (int index = 0; index < count; ++index) workload.tables.push_back(random_table(rng, index));
  return workload;
}

PlanOptions options_of(const std::string& algorithm, bool replicate) {
  PlanOptions options;
  options.algorithm = algorithm;
  options.evaluations = test::unless_sanitized(20'000, 4000);
  options.data_parallel = replicate;
  return options;
}

void check_plan(const Workload& workload, const PlanResult& found, std::int64_t memory,
                std::int64_t host_memory) {
  BOOST_TEST(validate(workload, found.plan).message() == "");
  BOOST_TEST(io::check_plan_sharding(workload, found.plan).message() == "");
  const auto on_devices = device_bytes(workload, found.plan);
  const auto on_hosts = host_bytes(workload, found.plan, found.plan.devices);
  BOOST_TEST(*std::max_element(on_devices.begin(), on_devices.end()) <= memory);
  BOOST_TEST(*std::max_element(on_hosts.begin(), on_hosts.end()) <= host_memory);
}

}  // namespace

BOOST_AUTO_TEST_CASE(tables_that_fit_by_their_rows_alone_may_be_in_host_memory) {
  const auto models = load_cost_models("torchrec");
  Workload workload;
  workload.batch_size = 8192;
  for (const std::int64_t rows : {5'213'998, 15'843'916, 89}) {
    Table table;
    table.name = std::to_string(rows);
    table.rows = rows;
    table.dim = 164;  // whose half is no multiple of 4
    table.pooling_factor = rows > 10'000'000 ? 1 : 5;
    table.reuse_histogram[0] = 1;
    table.pooled = false;
    workload.tables.push_back(table);
  }
  const Cluster cluster{
      .devices = 16, .memory_bytes = 3'453'612'492, .host_memory_bytes = 27'628'099'936};
  const PlanResult whole =
      make_plan(workload, cluster, models->models, options_of("random", false)).value();
  const PlanResult found =
      make_plan(workload, cluster, models->models, options_of("refine", false)).value();
  BOOST_TEST(has_offloaded(whole.plan));
  BOOST_TEST(found.cost.cost_ms <= whole.cost.cost_ms);
}

BOOST_AUTO_TEST_CASE(refine_has_a_plan_where_a_baseline_has_one_and_none_that_is_dearer) {
  const auto models = load_cost_models("torchrec");
  Rng rng(1);
  int plans = 0;
  int in_hosts = 0;
  constexpr int kRounds = test::unless_sanitized(60, 12);
  for (int round = 0; round < kRounds; ++round) {
    const Workload workload = random_workload(rng);
    const std::int64_t host_memory = 2 * workload_bytes(workload);
    const Cluster cluster{4, workload_bytes(workload) * rng.between(30, 120) / 400 + 1'000'000,
                          host_memory};
    const bool replicate = rng.below(2) == 0;
    const auto planned = [&](const std::string& algorithm) {
      return make_plan(workload, cluster, models->models, options_of(algorithm, replicate));
    };
    const auto refined = planned("refine");
    if (refined.ok()) {
      ++plans;
      in_hosts += has_offloaded(refined->plan) ? 1 : 0;
      check_plan(workload, *refined, cluster.memory_bytes, host_memory);
      if (refined->lower_bound)
        BOOST_TEST(*refined->lower_bound <= refined->cost.cost_ms * 1.00001);
    }
    for (const std::string& name : baseline_names()) {
      const auto other = planned(name);
      if (!other.ok()) continue;
      BOOST_REQUIRE_MESSAGE(refined.ok(), name << ": " << refined.status().message());
      BOOST_TEST(refined->cost.cost_ms <= other->cost.cost_ms * 1.00001, round << ", " << name);
      if (refined->lower_bound) BOOST_TEST(*refined->lower_bound <= other->cost.cost_ms * 1.00001);
    }
  }
  BOOST_TEST(6 * plans > 5 * kRounds);
  BOOST_TEST(3 * in_hosts > kRounds);
}

BOOST_AUTO_TEST_CASE(tables_that_may_not_be_fused_are_on_every_device_only_where_that_is_cheaper) {
  const auto models = load_cost_models("torchrec");
  Workload workload;
  workload.batch_size = 8;
  Table table;
  table.name = "t";
  table.rows = 3245;
  table.dim = 32;
  table.kernels.fused = table.kernels.fused_uvm_caching = false;
  workload.tables = {table};
  const Cluster cluster{4, 60'000'000, 200'000'000};
  const auto without = make_plan(workload, cluster, models->models, options_of("refine", false));
  const auto with = make_plan(workload, cluster, models->models, options_of("refine", true));
  BOOST_REQUIRE((without.ok() && with.ok()));
  BOOST_TEST(with->cost.cost_ms <= without->cost.cost_ms);
  BOOST_TEST(offloaded_tables(with->plan).size() == 1U);
}

BOOST_AUTO_TEST_CASE(replanning_places_no_new_table_that_may_not_be_fused) {
  const auto models = load_cost_models("torchrec");
  Rng rng(2);
  Workload workload;
  workload.batch_size = 4096;
  workload.tables = {random_table(rng, 0), random_table(rng, 1)};
  for (Table& table : workload.tables) table.kernels = {};
  Plan now{2, {whole_table(workload, 0, 0)}};
  workload.tables[1].kernels.fused = false;
  const auto refused = replan(workload, {2, std::int64_t{1} << 40}, models->models, now,
                              {.bytes = 1 << 30}, options_of("refine", false));
  BOOST_TEST(
      refused.status().message() ==
      "table 1 (1): its compute kernels are fused_uvm_caching, fused_uvm, and new tables are "
      "placed on devices alone");
}

BOOST_AUTO_TEST_CASE(what_has_no_room_on_hosts_is_not_said_to_have_no_hosts) {
  const auto models = load_cost_models("torchrec");
  Rng rng(3);
  Workload workload;
  workload.tables = {random_table(rng, 0)};
  workload.tables[0].kernels.fused = false;
  const auto refused = make_plan(workload, {4, std::int64_t{1} << 40, 1000}, models->models,
                                 options_of("refine", false));
  BOOST_TEST((refused.status().code() == StatusCode::kInfeasible));
  BOOST_TEST(refused.status().message().find("there is no host memory") == std::string::npos,
             refused.status().message());
}

namespace {

/// Cancels once a search has been heard of so many times.
class CancelLater final : public ProgressSink {
 public:
  CancelLater(CancelToken& token, int after) : token_(token), left_(after) {}
  void update(std::string_view, std::int64_t, std::int64_t, std::string_view) override {
    if (--left_ <= 0) token_.cancel();
  }

 private:
  CancelToken& token_;
  int left_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_search_that_was_cancelled_says_so) {
  const auto models = load_cost_models("torchrec");
  Rng rng(4);
  Workload workload;
  workload.batch_size = 4096;
  for (int index = 0; index < 12; ++index) workload.tables.push_back(random_table(rng, index));
  for (Table& table : workload.tables) table.kernels = {};
  const Cluster cluster{4, workload_bytes(workload) * 3 / 8, 2 * workload_bytes(workload)};
  PlanOptions options = options_of("refine", false);
  options.evaluations = 100'000'000;
  for (const int after : {1, 3, 6}) {  // tenths of a second, of a search of many
    CancelToken token;
    CancelLater sink(token, after);
    options.progress = &sink;
    options.cancel = &token;
    const auto found = make_plan(workload, cluster, models->models, options);
    BOOST_REQUIRE(token.cancelled());
    if (!found.ok()) {
      BOOST_TEST((found.status().code() == StatusCode::kCancelled), found.status().message());
      continue;
    }
    check_plan(workload, *found, cluster.memory_bytes, cluster.host_memory_bytes);
    BOOST_TEST(found->stopped_early, after);
  }
}

BOOST_AUTO_TEST_CASE(all_evaluations_are_spent_and_more_of_them_are_never_worse) {
  const auto models = load_cost_models("torchrec");
  constexpr std::int64_t kMost = test::unless_sanitized(30'000, 3000);
  int cheaper = 0;
  for (int seed = 1; seed <= test::unless_sanitized(4, 2); ++seed) {
    const Workload workload = test::large_tables(8 * seed, seed);
    const std::int64_t bytes = workload_bytes(workload);
    const Cluster cluster{8, bytes * (1 + seed % 3) / 32, 2 * bytes};
    double before = std::numeric_limits<double>::infinity();
    for (std::int64_t budget = 300; budget <= kMost; budget *= 10) {
      PlanOptions options;
      options.evaluations = budget;
      const auto found = make_plan(workload, cluster, models->models, options);
      BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
      BOOST_TEST(found->cost.cost_ms <= before, seed << ": " << budget);
      BOOST_TEST(std::abs(found->evaluations - budget) <= budget / 100 + 100, seed);
      cheaper += found->cost.cost_ms < before && budget > 300 ? 1 : 0;
      before = found->cost.cost_ms;
    }
  }
  BOOST_TEST(cheaper > 0);
}

BOOST_AUTO_TEST_CASE(cycles_of_a_larger_budget_are_those_of_a_smaller_one_and_more) {
  using Ends = std::vector<std::int64_t>;
  BOOST_TEST((ends_of_cycles(0) == Ends{0}));
  BOOST_TEST((ends_of_cycles(899) == Ends{899}));
  BOOST_TEST((ends_of_cycles(900) == Ends{300, 900}));
  BOOST_TEST((ends_of_cycles(30'000) == Ends{300, 3000, 30'000}));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Ends all = ends_of_cycles(most);
  BOOST_TEST(std::is_sorted(all.begin(), all.end()));
  BOOST_TEST(all.back() == most);
}

BOOST_AUTO_TEST_CASE(equal_columns_stand_where_there_are_any) {
  const auto models = load_cost_models("torchrec");
  Rng rng(5);
  for (int round = 0; round < 8; ++round) {
    Workload workload = random_workload(rng);
    for (Table& table : workload.tables) table.kernels = {};
    Cluster cluster{4, workload_bytes(workload) * 5 / 16 + 1'000'000};
    PlanOptions options = options_of("refine", false);
    options.row_splits = RowSplits::kOff;
    options.trainer.equal_columns = true;
    const auto without = make_plan(workload, cluster, models->models, options);
    cluster.host_memory_bytes = 2 * workload_bytes(workload);
    const auto with = make_plan(workload, cluster, models->models, options);
    if (!without.ok()) continue;
    BOOST_REQUIRE_MESSAGE(with.ok(), with.status().message());
    BOOST_TEST(with->cost.cost_ms <= 1.001 * without->cost.cost_ms, round);
    for (const Plan& plan : {without->plan, with->plan}) {
      BOOST_TEST(search::with_equal_columns(workload, plan).unequal.empty(), round);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
