// Plans that a search is given to go on from.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "search/plan_cost.h"
#include "search/refine/refine.h"
#include "tests/engine/generated_tables.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
namespace {

SearchOptions options_of(std::int64_t evaluations, std::span<const Plan> starts = {}) {
  SearchOptions options;
  options.evaluations = evaluations;
  options.row_splits = RowSplits::kEven;
  options.row_parts = 16;
  options.starts = starts;
  return options;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(starts)

BOOST_AUTO_TEST_CASE(no_search_ends_with_a_costlier_plan_than_it_began_with) {
  const std::int64_t many = test::unless_sanitized(30'000, 6000);
  for (const char* const name : {"h200_sim", "torchrec"}) {
    const CostModels models = load_shipped_models(name).value().models;
    Rng rng(8);
    for (const std::size_t count : {10, 60}) {
      const Workload workload = test::generated_tables(count, rng);
      const Cluster cluster{.devices = 8, .memory_bytes = std::int64_t{1} << 33};
      const auto evaluator = make_evaluator(models, workload, cluster.devices).value();
      const Problem problem(workload, cluster);
      std::vector<Plan> found;
      for (const std::int64_t evaluations : {many, std::int64_t{500}}) {
        found.push_back(shard_refine(problem, *evaluator, options_of(evaluations)).value().plan);
      }
      const double best = plan_cost(found[0], *evaluator);
      for (const std::int64_t evaluations : {1, 300, 3000}) {
        const SearchResult result =
            shard_refine(problem, *evaluator, options_of(evaluations, found)).value();
        BOOST_TEST(validate(workload, result.plan).ok());
        const std::vector<std::int64_t> bytes = device_bytes(workload, result.plan);
        BOOST_TEST(*std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_bytes);
        BOOST_TEST(plan_cost(result.plan, *evaluator) <= best * (1 + 1e-6));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(starts_that_walks_do_not_know_change_nothing) {
  const CostModels models = load_shipped_models("h200_sim").value().models;
  Rng rng(4);
  const Workload workload = test::generated_tables(6, rng);
  const Cluster cluster{.devices = 4, .memory_bytes = std::int64_t{1} << 33};
  const auto evaluator = make_evaluator(models, workload, cluster.devices).value();
  const Problem problem(workload, cluster);
  const Plan without = shard_refine(problem, *evaluator, options_of(1000)).value().plan;
  Plan odd{4, {}};  // one column by itself
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    odd.shards.push_back(whole_table(workload, table, table % 4));
  }
  odd.shards.front().column_end = 1;
  odd.shards.push_back(whole_table(workload, 0, 1));
  odd.shards.back().column_begin = 1;
  BOOST_REQUIRE(validate(workload, odd).ok());
  BOOST_TEST(
      (shard_refine(problem, *evaluator, options_of(1000, {&odd, 1})).value().plan == without));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
