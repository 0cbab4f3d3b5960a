// Plans that no other beats in devices, memory and cost: the archive, the search, its questions.
#include "engine/planner/frontier/frontier.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/frontier/plan_archive.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(frontier)

namespace {

constexpr std::int64_t kAny = std::int64_t{1} << 50;

Workload random_tables(Rng& rng, std::int64_t count) {
  Workload workload;
  workload.batch_size = 4096;
  for (std::int64_t k = 0; k < count; ++k) {
    Table table;
    table.name = std::to_string(k);
    table.rows = rng.between(1000, 400'000);
    table.dim = static_cast<std::int32_t>(16 * rng.between(1, 8));
    table.pooling_factor = static_cast<double>(rng.between(1, 30));
    table.reuse_histogram[0] = 1;
    workload.tables.push_back(table);
  }
  return workload;
}

std::int64_t fullest(const Workload& workload, const Plan& plan) {
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  return *std::max_element(bytes.begin(), bytes.end());
}

/// Each table whole on a random device.
Plan random_plan(Rng& rng, const Workload& workload, std::int32_t devices) {
  Plan plan{devices, {}};
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    plan.shards.push_back(whole_table(workload, static_cast<std::int32_t>(k),
                                      static_cast<std::int32_t>(rng.below(devices))));
  }
  return plan;
}

FrontierOptions options_for(std::vector<std::int32_t> devices, std::int64_t evaluations) {
  FrontierOptions options{std::move(devices), {}, {}};
  options.search.evaluations = evaluations;
  return options;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_archive_has_what_is_best_within_any_memory) {
  Rng rng(1);
  for (int round = 0; round < 30; ++round) {
    const Workload workload = random_tables(rng, 5);
    PlanArchive archive(workload, StepBuffers::kOff);
    std::vector<ArchivedPlan> all;
    for (int k = 0; k < 60; ++k) {
      const Plan plan = random_plan(rng, workload, k % 3 == 0 ? 2 : 3);
      const double cost = 1 + rng.uniform();
      all.push_back({plan, fullest(workload, plan), cost});
      archive.keep(plan, cost);
    }
    for (const ArchivedPlan& limit : all) {
      for (const std::int32_t devices : {2, 3}) {
        double least = 1e9;
        for (const ArchivedPlan& own : all) {
          if (own.plan.devices != devices || own.memory_bytes > limit.memory_bytes) continue;
          least = std::min(least, own.cost_ms);
        }
        const ArchivedPlan* best = archive.within(devices, limit.memory_bytes);
        BOOST_TEST((best != nullptr) == (least < 1e9));
        if (best != nullptr) BOOST_TEST(best->cost_ms == least);
      }
    }
    const std::vector<ArchivedPlan> plans = archive.plans();
    for (std::size_t k = 1; k < plans.size(); ++k) {
      if (plans[k].plan.devices != plans[k - 1].plan.devices) continue;
      BOOST_TEST(plans[k].memory_bytes > plans[k - 1].memory_bytes);
      BOOST_TEST(plans[k].cost_ms < plans[k - 1].cost_ms);
    }
    BOOST_TEST(archive.within(4, kAny) == nullptr);
  }
}

BOOST_AUTO_TEST_CASE(of_what_walks_offer_one_plan_a_step_of_memory_stays) {
  Rng rng(2);
  const Workload workload = random_tables(rng, 40);
  PlanArchive archive(workload, StepBuffers::kOff);
  double least = 1e9;
  for (int k = 0; k < 5000; ++k) {
    const double cost = 1 + rng.uniform();
    least = std::min(least, cost);
    archive.offer(random_plan(rng, workload, 4), cost);
  }
  BOOST_TEST(archive.plans().size() < 200);
  BOOST_TEST(archive.plans().back().cost_ms == least);
}

BOOST_AUTO_TEST_CASE(more_devices_and_more_memory_always_cost_less) {
  Rng rng(3);
  const CostModels models = load_cost_models("torchrec")->models;
  for (int round = 0; round < test::unless_sanitized(6, 2); ++round) {
    const Workload workload = random_tables(rng, rng.between(3, 20));
    const FrontierOptions options = options_for({4, 2}, 2000);
    const auto found = find_frontier(workload, {.memory_bytes = kAny}, models, options);
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    BOOST_TEST(!found->stopped_early);
    BOOST_TEST(!found->points.empty());
    for (const FrontierPoint& point : found->points) {
      BOOST_TEST(validate(workload, point.result.plan).message() == "");
      BOOST_TEST(point.memory_bytes == fullest(workload, point.result.plan));
      BOOST_TEST(simulate(workload, point.result.plan, models)->cost_ms ==
                 point.result.cost.cost_ms);
      for (const FrontierPoint& other : found->points) {
        if (&other == &point || other.result.plan.devices > point.result.plan.devices ||
            other.memory_bytes > point.memory_bytes) {
          continue;
        }
        BOOST_TEST(point.result.cost.cost_ms < other.result.cost.cost_ms);
      }
    }
    // No worse than a search for itself, with any memory.
    for (const std::int32_t devices : options.devices) {
      const Cluster cluster{.devices = devices, .memory_bytes = kAny};
      const auto alone = make_plan(workload, cluster, models, options.search);
      const FrontierPoint* best = least(found->points, LeastOf::kTime,
                                        {.cost_ms = {}, .memory_bytes = {}, .devices = devices});
      BOOST_REQUIRE(best != nullptr);
      BOOST_TEST(best->result.cost.cost_ms <= alone->cost.cost_ms * (1 + 1e-6));
    }
    const auto again = find_frontier(workload, {.memory_bytes = kAny}, models, options);
    BOOST_REQUIRE(again->points.size() == found->points.size());
    for (std::size_t k = 0; k < again->points.size(); ++k) {
      BOOST_TEST((again->points[k].result.plan == found->points[k].result.plan));
    }
  }
}

BOOST_AUTO_TEST_CASE(questions_are_answered_from_the_points) {
  std::vector<FrontierPoint> points(4);
  const auto set = [&](std::size_t at, std::int32_t devices, std::int64_t bytes, double cost) {
    points[at].memory_bytes = bytes;
    points[at].result.plan.devices = devices;
    points[at].result.cost.cost_ms = cost;
  };
  set(0, 2, 100, 5);
  set(1, 2, 200, 4);
  set(2, 4, 60, 3);
  set(3, 4, 150, 2);
  const auto asked = [&](LeastOf what, const FrontierLimits& limits) {
    const FrontierPoint* best = least(points, what, limits);
    return best == nullptr ? -1 : best - points.data();
  };
  BOOST_TEST(asked(LeastOf::kTime, {}) == 3);
  BOOST_TEST(asked(LeastOf::kTime, {{}, 100, {}}) == 2);
  BOOST_TEST(asked(LeastOf::kTime, {{}, 100, 3}) == 0);
  BOOST_TEST(asked(LeastOf::kMemory, {4.5, {}, {}}) == 2);
  BOOST_TEST(asked(LeastOf::kMemory, {4.5, {}, 2}) == 1);
  BOOST_TEST(asked(LeastOf::kDevices, {4.5, {}, {}}) == 1);
  BOOST_TEST(asked(LeastOf::kDevices, {}) == 1);  // the cheapest of the fewest
  BOOST_TEST(asked(LeastOf::kDevices, {1, {}, {}}) == -1);
}

BOOST_AUTO_TEST_CASE(numbers_of_devices_without_a_plan_are_told) {
  Rng rng(4);
  const Workload workload = random_tables(rng, 6);
  const CostModels models = load_cost_models("torchrec")->models;
  const std::int64_t all = workload_bytes(workload);
  const auto some =
      find_frontier(workload, {.memory_bytes = all / 3}, models, options_for({2, 8}, 500));
  BOOST_REQUIRE(some.ok());
  BOOST_TEST(some->refusals.size() == 1);
  for (const FrontierPoint& point : some->points) BOOST_TEST(point.result.plan.devices == 8);
  const auto none =
      find_frontier(workload, {.memory_bytes = all / 3}, models, options_for({1, 2}, 500));
  BOOST_TEST((none.status().code() == StatusCode::kInfeasible));
}

BOOST_AUTO_TEST_CASE(a_time_limit_is_kept_by_all_searches_together) {
  Rng rng(5);
  const Workload workload = random_tables(rng, 30);
  FrontierOptions options = options_for({2, 4, 8}, 0);
  options.search.time_limit_s = 0.2;
  std::size_t settings = 0;
  options.next = [&](std::size_t setting, std::size_t of) {
    BOOST_TEST(setting >= 1);
    BOOST_TEST(setting <= of);
    ++settings;
  };
  const auto found = find_frontier(workload, {.memory_bytes = kAny},
                                   load_cost_models("torchrec")->models, options);
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(!found->points.empty());
  BOOST_TEST(settings >= 3);
  BOOST_TEST(settings <= 3 * kFrontierSettings);
}

BOOST_AUTO_TEST_CASE(an_interrupt_leaves_what_was_found) {
  Rng rng(6);
  const Workload workload = random_tables(rng, 10);
  const CostModels models = load_cost_models("torchrec")->models;
  CancelToken token;
  FrontierOptions options = options_for({2, 4}, 1000);
  options.search.cancel = &token;
  options.next = [&](std::size_t setting, std::size_t) {
    if (setting == 3) token.cancel();
  };
  const auto found = find_frontier(workload, {.memory_bytes = kAny}, models, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(found->interrupted);
  BOOST_TEST(!found->points.empty());
  for (const FrontierPoint& point : found->points) BOOST_TEST(point.result.plan.devices == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
