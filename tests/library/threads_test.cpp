// What engine.h promises about threads, callbacks and cancelling; run under the thread sanitizer.
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

/// A plan made with handles of its own. Boost.Test's macros are for one thread only, so whatever
/// runs in another returns its outcome.
Result<Plan> plan_alone(const Workload& workload) {
  const Result<CostModels> models = CostModels::shipped();
  if (!models) return models.error();
  const Result<Planner> planner = Planner::create(*models);
  if (!planner) return planner.error();
  return planner->plan(workload, cluster_of(4), {.algorithm = "neuroshard", .threads = 2});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(threads)

BOOST_AUTO_TEST_CASE(two_threads_plan_on_two_handles) {
  const Workload workloads[] = {make_workload(12), make_workload(12)};
  std::optional<Result<Plan>> found[2];
  std::thread other([&] { found[1] = plan_alone(workloads[1]); });
  found[0] = plan_alone(workloads[0]);
  other.join();
  const std::string first = must(must(std::move(*found[0])).export_as(workloads[0]));
  const std::string second = must(must(std::move(*found[1])).export_as(workloads[1]));
  BOOST_TEST(!first.empty());
  BOOST_TEST(first == second);
}

BOOST_AUTO_TEST_CASE(threads_share_planner_workload_and_plans) {
  std::atomic<int> lines{0};
  neuroshard_planner_options options{};
  options.struct_size = sizeof options;
  options.log = [](void* count, std::int32_t, neuroshard_text) {
    ++*static_cast<std::atomic<int>*>(count);
  };
  options.log_user_data = &lines;
  const Planner planner = must(Planner::create(must(CostModels::shipped()), &options));
  const Workload workload = make_workload(12);
  const Plan shared =
      must(planner.plan(workload, cluster_of(4), {.algorithm = "neuroshard", .threads = 1}));
  std::optional<Result<Plan>> planned[4];
  std::optional<Result<Plan>> simulated[4];
  std::optional<Result<std::string>> exported[4];
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      planned[i] = planner.plan(workload, cluster_of(4), {.algorithm = "neuroshard", .threads = 1});
      simulated[i] = planner.simulate(workload, shared);
      exported[i] = shared.export_as(workload);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 4; ++i) {
    BOOST_TEST(must(std::move(*planned[i])).cost_ms() == shared.cost_ms());
    BOOST_TEST(must(std::move(*simulated[i])).cost_ms() == shared.cost_ms());
    BOOST_TEST(must(std::move(*exported[i])) == must(shared.export_as(workload)));
  }
  BOOST_TEST(lines.load() >= 6);  // one of the planner, one a plan
}

BOOST_AUTO_TEST_CASE(another_thread_cancels_and_the_best_plan_so_far_comes_back) {
  const Planner planner = make_planner();
  const Workload workload = make_workload(400);
  const Cancellation cancellation = must(Cancellation::create());
  std::atomic<bool> searching{false};
  PlanOptions options{.algorithm = "neuroshard", .threads = 2, .cancellation = &cancellation};
  options.progress = [&](auto, auto, auto, auto) {
    searching.store(true);
    while (!cancellation.cancelled()) std::this_thread::yield();
  };
  std::thread other([&] {
    while (!searching.load()) std::this_thread::yield();
    cancellation.cancel();
  });
  const Plan plan = must(planner.plan(workload, cluster_of(64), options));
  other.join();
  BOOST_TEST(plan.info().stopped_early == 1);
  BOOST_TEST(plan.check(workload, cluster_of(64)).ok());
  BOOST_TEST(plan.cost_ms() > 0);
}

BOOST_AUTO_TEST_CASE(a_cancellation_lasts_until_it_is_reset) {
  const Planner planner = make_planner();
  const Workload workload = make_workload(4);
  Cancellation cancellation = must(Cancellation::create());
  const PlanOptions options{.algorithm = "neuroshard", .cancellation = &cancellation};
  cancellation.cancel();
  for (int i = 0; i < 2; ++i) {
    const Result<Plan> plan = planner.plan(workload, cluster_of(2), options);
    BOOST_REQUIRE(!plan);
    BOOST_TEST(plan.error().status == NEUROSHARD_CANCELLED);
  }
  cancellation.reset();
  BOOST_TEST(planner.plan(workload, cluster_of(2), options).ok());
}

BOOST_AUTO_TEST_SUITE_END()
