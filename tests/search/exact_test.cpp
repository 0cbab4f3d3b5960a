// The optimum of small tasks against every placement there is, and the yardstick `anneal`.
#include "search/exact.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "search/algorithms.h"
#include "search/anneal.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
namespace {

/// The lowest cost of all devices^tables placements that fit; infinite: none.
double lowest_by_counting(const Workload& workload, const Cluster& cluster,
                          PlanEvaluator& evaluator) {
  double lowest = std::numeric_limits<double>::infinity();
  std::vector<std::int32_t> device_of(workload.tables.size(), 0);
  for (bool more = true; more;) {
    Plan plan{cluster.devices, {}};
    for (std::size_t k = 0; k < device_of.size(); ++k) {
      plan.shards.push_back(whole_table(workload, static_cast<std::int32_t>(k), device_of[k]));
    }
    const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
    if (*std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_bytes) {
      lowest = std::min(lowest, test::cost_of(plan, evaluator));
    }
    more = false;
    for (std::int32_t& device : device_of) {
      if (++device < cluster.devices) {
        more = true;
        break;
      }
      device = 0;
    }
  }
  return lowest;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exact)

BOOST_AUTO_TEST_CASE(no_placement_is_cheaper) {
  Rng rng(1);
  int infeasible = 0;
  for (int round = 0; round < 34; ++round) {
    // The last ones have more placements than there are parts of the search.
    const bool large = round >= 30;
    const Workload workload = test::many_tables(rng, large ? 9 : rng.between(1, 6));
    const auto devices = static_cast<std::int32_t>(large ? 3 : rng.between(1, 4));
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, devices);
    const std::int64_t slack = round % 3 == 0 ? 1000 : rng.between(101, 150);
    const Cluster cluster =
        test::make_cluster(devices, workload_bytes(workload) / devices * slack / 100 + 1);
    const double lowest = lowest_by_counting(workload, cluster, evaluator);
    const auto found = shard_exact({workload, cluster}, evaluator, {});
    BOOST_REQUIRE(found.ok() == (lowest < std::numeric_limits<double>::infinity()));
    if (!found.ok()) {
      ++infeasible;
      BOOST_TEST((found.status().code() == StatusCode::kInfeasible));
      continue;
    }
    BOOST_TEST(validate(workload, found->plan).ok());
    for (const std::int64_t bytes : device_bytes(workload, found->plan)) {
      BOOST_TEST(bytes <= cluster.memory_bytes);
    }
    // The order of sums differs.
    BOOST_TEST(std::abs(test::cost_of(found->plan, evaluator) / lowest - 1) < 1e-6);
  }
  BOOST_TEST(infeasible > 0);
}

BOOST_AUTO_TEST_CASE(alike_devices_are_counted_once) {
  // Partitions of 7 into at most 3 parts: 1 + 63 + 301.
  BOOST_TEST(exact_plans(7, 3, true) == 365);
  BOOST_TEST(exact_plans(7, 3, false) == 2187);
  BOOST_TEST(exact_plans(5, 1, true) == 1);
  BOOST_TEST(exact_plans(12, 4, true) < kMostExactPlans);
  BOOST_TEST(exact_plans(12, 4, false) < kMostExactPlans);
  BOOST_TEST(exact_plans(100000, 65536, true) > kMostExactPlans);
  Rng rng(2);
  const Workload workload = test::many_tables(rng, 7);
  const Cluster cluster = test::make_cluster(3, std::int64_t{1} << 40);
  for (const bool alike : {true, false}) {
    test::FusedEvaluator evaluator(workload, 3, std::vector<float>(7, 2.0f), 0.5, alike);
    const auto found = shard_exact({workload, cluster}, evaluator, {});
    BOOST_TEST(found->evaluations == (alike ? 365 : 2187));
  }
}

BOOST_AUTO_TEST_CASE(threads_do_not_change_the_optimum) {
  Rng rng(3);
  const Workload workload = test::many_tables(rng, 9);
  const Cluster cluster = test::make_cluster(3, workload_bytes(workload) / 2);
  // Equal tables of equal cost: many optima.
  test::FusedEvaluator evaluator(workload, 3, std::vector<float>(9, 2.0f), 1, true);
  const auto alone = shard_exact({workload, cluster}, evaluator, {});
  BOOST_REQUIRE(alone.ok());
  for (const int threads : {2, 5}) {
    ThreadPool pool(threads);
    SearchOptions options;
    options.pool = &pool;
    const auto together = shard_exact({workload, cluster}, evaluator, options);
    BOOST_TEST((together->plan == alone->plan));
    BOOST_TEST(together->evaluations == alone->evaluations);
  }
}

BOOST_AUTO_TEST_CASE(too_many_plans_are_refused_in_one_line) {
  Rng rng(4);
  const Workload workload = test::many_tables(rng, 30);
  const Cluster cluster = test::make_cluster(4, std::int64_t{1} << 40);
  test::FusedEvaluator evaluator(workload, 4, std::vector<float>(30, 2.0f), 1, true);
  const auto found = shard_exact({workload, cluster}, evaluator, {});
  BOOST_TEST((found.status().code() == StatusCode::kInvalidInput));
  BOOST_TEST(found.status().message() ==
             "this algorithm goes through all plans, at most 20000000: 30 tables on 4 devices have "
             "more than 20000000; fewer tables or another algorithm would do");
  const Workload small = test::many_tables(rng, 7);
  test::FusedEvaluator for_small(small, 3, std::vector<float>(7, 2.0f), 1, true);
  SearchOptions options;
  options.evaluations = 364;
  const Cluster three = test::make_cluster(3, std::int64_t{1} << 40);
  const auto one_short = shard_exact({small, three}, for_small, options);
  BOOST_TEST(one_short.status().message().find(
                 "at most 364: 7 tables on 3 devices have 365; fewer") != std::string::npos);
  options.evaluations = 365;
  BOOST_TEST(shard_exact({small, three}, for_small, options).ok());
  // More than any double counts.
  options.evaluations = std::numeric_limits<std::int64_t>::max();
  const Workload many = test::many_tables(rng, 600);
  test::FusedEvaluator for_many(many, 4, std::vector<float>(600, 2.0f), 1, false);
  const auto too_many = shard_exact({many, cluster}, for_many, options);
  BOOST_TEST(too_many.status().message().find("at most 20000000: 600 tables on 4 devices, which "
                                              "are not alike, have more "
                                              "than 20000000;") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_cancelled_search_has_no_optimum) {
  Rng rng(5);
  const Workload workload = test::many_tables(rng, 9);
  const Cluster cluster = test::make_cluster(3, std::int64_t{1} << 40);
  test::FusedEvaluator evaluator(workload, 3, std::vector<float>(9, 2.0f), 1, true);
  CancelToken cancel;
  cancel.cancel();
  SearchOptions options;
  options.cancel = &cancel;
  const auto found = shard_exact({workload, cluster}, evaluator, options);
  BOOST_TEST((found.status().code() == StatusCode::kCancelled));
}

BOOST_AUTO_TEST_CASE(annealing_keeps_to_its_budget_and_finds_something) {
  Rng rng(6);
  int better = 0;
  for (int round = 0; round < 8; ++round) {
    const Workload workload = test::many_tables(rng, 10);
    const Cluster cluster = test::make_cluster(4, workload_bytes(workload) / 2);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    SearchOptions options;
    options.evaluations = 5000;
    const auto found = shard_anneal({workload, cluster}, evaluator, options);
    BOOST_REQUIRE(found.ok());
    BOOST_TEST(found->evaluations == 5000);
    BOOST_TEST(!found->stopped_early);
    BOOST_TEST(validate(workload, found->plan).ok());
    for (const std::int64_t bytes : device_bytes(workload, found->plan)) {
      BOOST_TEST(bytes <= cluster.memory_bytes);
    }
    const double cost = test::cost_of(found->plan, evaluator);
    double greedy = std::numeric_limits<double>::infinity();
    for (const char* name : {"size-greedy", "dim-greedy", "lookup-greedy"}) {
      const auto other = find_algorithm(name)->run({workload, cluster}, evaluator, {});
      if (other.ok()) greedy = std::min(greedy, test::cost_of(other->plan, evaluator));
    }
    BOOST_TEST(cost <= greedy * (1 + 1e-6));
    better += cost < 0.99 * greedy;
    const auto again = shard_anneal({workload, cluster}, evaluator, options);
    BOOST_TEST((again->plan == found->plan));
  }
  BOOST_TEST(better >= 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
