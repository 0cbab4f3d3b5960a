// The released code's own networks, tasks and results: what it costs we cost, what it finds we
// find.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "engine/core/plan_check.h"
#include "engine/planner/memory_limits.h"
#include "engine/planner/planner.h"
#include "tests/cost_model/reference_results.h"

namespace neuroshard {
namespace {

constexpr double kSame = 1e-6;  // of a cost: sums of floats in another order
constexpr std::int64_t kDeviceMemory = std::int64_t{4} << 30;

Cluster cluster_of(const test::ReferenceRun& run) {
  Cluster cluster;
  cluster.devices = run.devices;
  cluster.memory_bytes = kDeviceMemory;
  return cluster;
}

/// Calls check(run) for both device counts; says so when the data is not there.
template <typename Check>
void for_both(const Check& check) {
  for (const std::int32_t devices : {4, 8}) {
    const auto run = test::reference_run(devices);
    if (!run) {
      BOOST_TEST_MESSAGE("reference data is not there: skipped");
      return;
    }
    BOOST_REQUIRE(run->tasks.size() == (devices == 4 ? 30u : 15u));
    check(*run);
  }
}

Result<PlanResult> plan_with(const std::string& algorithm, const test::ReferenceRun& run,
                             const test::ReferenceTask& task) {
  PlanOptions options;
  options.algorithm = algorithm;
  return make_plan(task.workload, cluster_of(run), run.models, options);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reference)

BOOST_AUTO_TEST_CASE(its_plans_cost_what_it_says) {
  for_both([](const test::ReferenceRun& run) {
    for (const test::ReferenceTask& task : run.tasks) {
      const Result<PlanCost> cost = simulate(task.workload, task.plan, run.models);
      BOOST_REQUIRE_MESSAGE(cost.ok(), cost.status().message());
      BOOST_TEST(std::abs(cost->cost_ms - task.cost_ms) <= kSame * task.cost_ms);
      BOOST_TEST(check_memory(task.workload, task.plan, kDeviceMemory).ok());
    }
  });
}

BOOST_AUTO_TEST_CASE(neuroshard_is_as_good_on_every_task) {
  for_both([](const test::ReferenceRun& run) {
    double seconds = 0;
    double reference_seconds = 0;
    for (std::size_t index = 0; index < run.tasks.size(); ++index) {
      const test::ReferenceTask& task = run.tasks[index];
      const Result<PlanResult> found = plan_with("neuroshard", run, task);
      BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
      // Two tables tie for its last candidate; the reference's sort leaves open which is taken.
      const bool tied = run.devices == 8 && index == 14;
      const double least = tied ? 0.999 * task.cost_ms : (1 - kSame) * task.cost_ms;
      const double cost = found->cost.cost_ms;
      BOOST_TEST(
          (cost >= least && cost <= (1 + kSame) * task.cost_ms),
          run.devices << " devices, task " << index << ": " << cost << " ms for " << task.cost_ms);
      BOOST_TEST(validate(task.workload, found->plan).ok());
      BOOST_TEST(check_memory(task.workload, found->plan, kDeviceMemory).ok());
      seconds += found->seconds;
      reference_seconds += task.seconds;
    }
    BOOST_TEST_MESSAGE(run.devices << " devices: " << seconds * 1e3 / double(run.tasks.size())
                                   << " ms a task, reference "
                                   << reference_seconds * 1e3 / double(run.tasks.size()));
  });
}

BOOST_AUTO_TEST_CASE(baselines_cost_the_same_and_fit_where_they_fit) {
  for_both([](const test::ReferenceRun& run) {
    for (std::size_t index = 0; index < run.tasks.size(); ++index) {
      const test::ReferenceTask& task = run.tasks[index];
      for (const auto& [name, cost] : task.baselines) {
        const Result<PlanResult> found = plan_with(name, run, task);
        BOOST_TEST(found.ok() == cost.has_value(), name << " on task " << index);
        if (!found.ok()) {
          BOOST_TEST((found.status().code() == StatusCode::kInfeasible));
          continue;
        }
        BOOST_TEST(std::abs(found->cost.cost_ms - cost.value_or(0)) <= kSame * cost.value_or(0),
                   name << " on task " << index << ": " << found->cost.cost_ms << " ms for "
                        << cost.value_or(0));
      }
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
