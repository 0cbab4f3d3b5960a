// Plans for files that have no place for every plan.
#include "engine/planner/plan_for_file.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "engine/cost_model/shipped_models.h"

namespace {

using namespace neuroshard;

/// `count` tables that are cheapest in row shards.
Workload tables(int count) {
  Workload workload;
  workload.batch_size = 4096;
  for (int k = 0; k < count; ++k) {
    Table table;
    table.name = std::to_string(k);
    table.rows = 1'000'000 + 1000 * k;
    table.dim = 64;
    table.pooling_factor = 40 + k % 7;
    workload.tables.push_back(table);
  }
  return workload;
}

CostModels formula() { return load_cost_models("torchrec")->models; }

/// A file with no place for plans of that algorithm; "": for none at all.
PlanFile file_without(const std::string& algorithm) {
  return {"stone", [](Plan plan) { return plan; },
          [algorithm](const PlanResult& result) {
            const bool refused = algorithm.empty() || result.algorithm == algorithm;
            return refused ? invalid_input("too long") : Status();
          }};
}

/// All whole on the first device.
Plan crowded(const Workload& workload, std::int32_t devices) {
  Plan plan{devices, {}};
  for (std::int32_t k = 0; k < std::ssize(workload.tables); ++k) {
    plan.shards.push_back(whole_table(workload, k, 0));
  }
  return plan;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_for_file)

BOOST_AUTO_TEST_CASE(another_algorithms_plan_is_taken_where_a_file_has_no_place_for_the_best) {
  const Workload workload = tables(2);
  const Cluster cluster{.devices = 2, .memory_bytes = 1'000'000'000};
  const CostModels models = formula();
  PlanOptions options;
  options.evaluations = 200;
  const PlanFile file = file_without(options.algorithm);
  const Result<PlanResult> best = make_plan_for(file, workload, cluster, models, options);
  BOOST_TEST_REQUIRE(best.ok());
  const Status refused = file.refusal(*best);
  BOOST_TEST_REQUIRE(!refused.ok());
  const auto instead = plan_instead(file, workload, cluster, models, options, *best, refused);
  BOOST_TEST_REQUIRE(instead.ok());
  BOOST_TEST(instead->plan.algorithm != options.algorithm);
  for (const ComparedPlan& other : instead->others) {
    BOOST_TEST(other.algorithm != instead->plan.algorithm);
    if (other.result.ok()) BOOST_TEST(other.result->cost.cost_ms >= instead->plan.cost.cost_ms);
  }
  const auto none =
      plan_instead(file_without(""), workload, cluster, models, options, *best, refused);
  BOOST_TEST((none.status().code() == StatusCode::kInfeasible));
  BOOST_TEST(
      none.status().message().starts_with("too long; no plan found that stone has a place for: "));
  CancelToken stop;
  stop.cancel();
  options.cancel = &stop;
  const auto stopped = plan_instead(file, workload, cluster, models, options, *best, refused);
  BOOST_TEST(stopped.status().message() == "too long");
}

BOOST_AUTO_TEST_CASE(a_time_limit_is_that_of_all_baselines_together) {
  const Workload workload = tables(400);
  const Cluster cluster{.devices = 16, .memory_bytes = std::int64_t{1} << 40};
  const CostModels models = formula();
  const std::vector<std::string> names{"size-greedy", "neuroshard"};
  // The published search of so many tables takes longer than no time at all.
  const auto compared = compare_plans(workload, cluster, models, names, {}, {1e-9});
  BOOST_TEST_REQUIRE(compared.ok());
  const Result<PlanResult>& cut = compared->back().result;
  BOOST_TEST((cut.status().code() == StatusCode::kCancelled || cut->stopped_early));
  // Who has plans already does not wait for a moment each.
  const auto unrun =
      compare_plans(workload, cluster, models, names, {}, {1e-9, TimeForAll::Then::kNothing});
  BOOST_TEST_REQUIRE(unrun.ok());
  BOOST_TEST(unrun->size() == names.size());
  for (const ComparedPlan& other : *unrun) {
    BOOST_TEST((other.result.status().code() == StatusCode::kCancelled));
    BOOST_TEST(other.seconds == 0);
  }
  PlanOptions options;
  options.time_limit_s = 1e-9;
  PlanResult best;
  best.algorithm = "refine";
  best.seconds = 100;  // each baseline would have as long, were there no limit
  const auto instead = plan_instead(file_without("refine"), workload, cluster, models, options,
                                    best, invalid_input("too long"));
  if (instead.ok()) {
    for (const ComparedPlan& other : instead->others) BOOST_TEST(other.seconds < 50);
  } else {
    BOOST_TEST(instead.status().message() ==
               "too long; time ended the search for one that it has a place for");
  }
}

BOOST_AUTO_TEST_CASE(a_plan_near_one_that_runs_is_put_as_the_file_holds_it) {
  const Workload workload = tables(4);
  const Cluster cluster{.devices = 2, .memory_bytes = std::int64_t{1} << 40};
  const CostModels models = formula();
  const Plan now = crowded(workload, 2);
  PlanFile file = file_without("nobody's");
  // Holds everything on the second device alone.
  file.as_written = [](Plan plan) {
    for (Shard& shard : plan.shards) shard.device = 1;
    return plan;
  };
  PlanOptions options;
  options.evaluations = 200;
  const auto near = replan_for(file, workload, cluster, models, now, {.bytes = 1 << 30}, options);
  BOOST_TEST_REQUIRE(near.ok());
  for (const Shard& shard : near->plan.shards) BOOST_TEST(shard.device == 1);
  BOOST_TEST(near->cost.cost_ms == simulate(workload, near->plan, models)->cost_ms);
}

BOOST_AUTO_TEST_CASE(the_plan_that_runs_stays_where_it_can_and_the_file_has_a_place_for_it) {
  Workload workload = tables(4);
  Cluster cluster{.devices = 2, .memory_bytes = std::int64_t{1} << 40};
  const CostModels models = formula();
  const Plan now = crowded(workload, 2);
  const Status refused = invalid_input("too long");
  PlanResult best;
  best.algorithm = "replan";
  const auto stays = [&](const std::string& algorithm) {
    return now_instead(file_without(algorithm), workload, cluster, models, now, best, refused);
  };
  const auto same = stays("nobody's");
  BOOST_TEST_REQUIRE(same.ok());
  BOOST_TEST((same->plan == now));
  BOOST_TEST(same->cost.cost_ms == simulate(workload, now, models)->cost_ms);
  BOOST_TEST(stays("").status().message() == "too long");
  BOOST_TEST(could_stay(workload, now, cluster));
  cluster.memory_bytes = 4;
  BOOST_TEST(!could_stay(workload, now, cluster));
  BOOST_TEST(stays("nobody's").status().message() == "too long");
  cluster.memory_bytes = std::int64_t{1} << 40;
  workload = tables(5);
  BOOST_TEST(!could_stay(workload, now, cluster));
  BOOST_TEST(stays("nobody's").status().message() == "too long");
}

BOOST_AUTO_TEST_SUITE_END()
