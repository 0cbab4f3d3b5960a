// What ends a local search: budgets, time, a cancelled run; a budget gives the same plan from any
// number of threads.
#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "engine/core/thread_pool.h"
#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/nearly_full.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {

using test::NearlyFull;

BOOST_AUTO_TEST_SUITE(refine_budget)

BOOST_AUTO_TEST_CASE(threads_do_not_change_plans_of_a_budget) {
  Rng rng(3);
  for (const int tables : {20, 20, 8}) {  // of few, in more and shorter walks
    const NearlyFull task(rng, tables, 4, 1.3);
    test::FusedEvaluator evaluator = test::random_fused(rng, task.workload, 4);
    const auto alone = test::refined(task, evaluator, 20000);
    BOOST_REQUIRE(alone.ok());
    BOOST_TEST(alone->evaluations <= 25000);
    for (const int threads : {2, 3, 8}) {
      ThreadPool pool(threads);
      const auto together = test::refined(task, evaluator, 20000, &pool);
      BOOST_REQUIRE(together.ok());
      BOOST_TEST((together->plan == alone->plan));
      BOOST_TEST(together->evaluations == alone->evaluations);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_time_limit_that_is_not_reached_does_not_change_plans_of_a_budget) {
  Rng rng(9);
  const NearlyFull task(rng, 20, 4, 1.3);
  test::FusedEvaluator evaluator = test::random_fused(rng, task.workload, 4);
  const auto expected = test::refined(task, evaluator, 20000);
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    SearchOptions options;
    options.evaluations = 20000;
    options.time_limit_s = 1e6;
    options.pool = &pool;
    const auto found = shard_refine({task.workload, task.cluster}, evaluator, options);
    BOOST_REQUIRE(found.ok());
    BOOST_TEST((found->plan == expected->plan));
    BOOST_TEST(found->evaluations == expected->evaluations);
    BOOST_TEST(!found->stopped_early);
  }
  // A budget that no time would do for ends with the limit.
  SearchOptions large;
  large.evaluations = std::int64_t{1} << 60;
  large.time_limit_s = 0.05;
  const auto stopped = shard_refine({task.workload, task.cluster}, evaluator, large);
  BOOST_REQUIRE(stopped.ok());
  BOOST_TEST(stopped->stopped_early);
}

BOOST_AUTO_TEST_CASE(limits_end_it) {
  Rng rng(4);
  const NearlyFull task(rng, 20, 4, 1.3);
  test::FusedEvaluator evaluator = test::random_fused(rng, task.workload, 4);
  constexpr int kMany = test::unless_sanitized(200000, 40000);
  const auto more = test::refined(task, evaluator, kMany);
  BOOST_TEST(more->evaluations >= kMany - 1000);
  // Fewer than the start takes: the start.
  const auto start = test::refined(task, evaluator, 1);
  BOOST_REQUIRE(start.ok());
  BOOST_TEST(start->evaluations <= 100);
  SearchOptions timed;
  timed.time_limit_s = 0.01;
  const auto stopped = shard_refine({task.workload, task.cluster}, evaluator, timed);
  BOOST_REQUIRE(stopped.ok());
  BOOST_TEST(stopped->stopped_early);
  CancelToken cancel;
  cancel.cancel();
  timed.time_limit_s = 1e9;
  timed.cancel = &cancel;
  const auto cancelled = shard_refine({task.workload, task.cluster}, evaluator, timed);
  BOOST_REQUIRE(cancelled.ok());  // the baselines have a plan at once
  BOOST_TEST(cancelled->stopped_early);
}

BOOST_AUTO_TEST_CASE(a_budget_is_kept_whatever_its_size) {
  Rng rng(12);
  for (const std::int64_t tables : {1, 5, 30, 120}) {
    for (const double slack : {1.05, 3.0}) {
      const NearlyFull task(rng, tables, 8, slack);
      test::FusedEvaluator evaluator = test::random_fused(rng, task.workload, 8);
      const bool rows = slack > 2;
      for (const std::int64_t budget :
           {1, 100, 1000, 3000, 10'000, test::unless_sanitized(100'000, 20'000)}) {
        SearchOptions options;
        options.evaluations = budget;
        options.row_splits = rows ? RowSplits::kAny : RowSplits::kOff;
        options.row_parts = 16;
        const auto found = shard_refine({task.workload, task.cluster}, evaluator, options);
        if (!found.ok()) break;
        BOOST_TEST(found->evaluations <= budget + budget / 100 + 100);
        BOOST_TEST(found->evaluations >= budget - budget / 100 - 100);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
