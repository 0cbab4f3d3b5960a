#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "search/algorithms.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/limited_tables.h"

namespace neuroshard::test {

/// 200 random tasks in which the tables fill most of the devices' memory. `run(problem, evaluator,
/// round)` is a search, whose plans have to fit and are given to `look(workload, result)`; where it
/// has none, the paper's search has none, either. How many have a plan.
int found_in_tight_tasks(std::uint64_t seed, const auto& run, const auto& look) {
  Rng rng(seed);
  int found_any = 0;
  for (int round = 0; round < 200; ++round) {
    const Workload workload = many_tables(rng, rng.between(3, 24));
    const auto devices = static_cast<std::int32_t>(rng.between(2, 6));
    const Cluster cluster = cluster_with_room(workload, devices, 1.01 + 0.2 * rng.uniform());
    FusedEvaluator evaluator = random_fused(rng, workload, devices);
    const search::Problem problem(workload, cluster);
    const Result<search::SearchResult> found = run(problem, evaluator, round);
    if (!found.ok()) {
      BOOST_TEST((found.status().code() == StatusCode::kInfeasible));
      const auto packed = search::find_algorithm("neuroshard")->run(problem, evaluator, {});
      BOOST_TEST(!packed.ok(), packed.status().message());
      continue;
    }
    ++found_any;
    BOOST_TEST(fits(workload, found->plan, cluster));
    look(workload, *found);
  }
  return found_any;
}

}  // namespace neuroshard::test
