// Memory that goes with splits: optimizers that keep a number for each row of each shard make
// narrow shards larger than their share of the table.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "engine/core/plan_check.h"
#include "search/algorithms.h"
#include "tests/search/fused_evaluator.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
namespace {

/// Tables of all optimizers, with rows as narrow as 8 columns, on devices that they nearly fill.
struct StatesTask {
  Workload workload;
  Cluster cluster;

  StatesTask(Rng& rng, double slack) : workload(test::many_tables(rng, 24)) {
    for (Table& table : workload.tables) table.optimizer = static_cast<Optimizer>(rng.below(8));
    const auto devices = static_cast<std::int32_t>(rng.between(2, 6));
    cluster = test::cluster_with_room(workload, devices, slack);
  }
};

/// Bytes of weights and states on each device, by FBGEMM's numbers a row and a weight.
std::vector<std::int64_t> counted_bytes(const StatesTask& task, const Plan& plan) {
  constexpr std::int64_t kPerRow[]{0, 1, 0, 0, 1, 0, 1, 0};
  constexpr std::int64_t kPerWeight[]{0, 0, 1, 2, 1, 2, 1, 1};
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(plan.devices));
  for (const Shard& shard : plan.shards) {
    const Table& table = task.workload.tables[static_cast<std::size_t>(shard.table)];
    const auto optimizer = static_cast<std::size_t>(table.optimizer);
    bytes[static_cast<std::size_t>(shard.device)] +=
        4 * shard.rows() * (shard.dim() * (1 + kPerWeight[optimizer]) + kPerRow[optimizer]);
  }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_states)

BOOST_AUTO_TEST_CASE(no_plan_of_any_algorithm_has_more_than_the_devices_hold) {
  Rng rng(3);
  int found_any = 0;
  constexpr int kRounds = test::unless_sanitized(24, 4);
  for (int round = 0; round < kRounds; ++round) {
    const StatesTask task(rng, 1.01 + 0.2 * rng.uniform());
    test::FusedEvaluator evaluator = test::random_fused(rng, task.workload, task.cluster.devices);
    bool baseline = false;
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.name == "exact") continue;  // for a dozen tables
      SearchOptions options;
      options.evaluations = 4000;
      const auto found = algorithm.run({task.workload, task.cluster}, evaluator, options);
      if (algorithm.name == kDefaultAlgorithm) BOOST_TEST((found.ok() || !baseline));
      if (!found.ok()) continue;
      baseline = baseline || algorithm.baseline;
      ++found_any;
      BOOST_TEST(validate(task.workload, found->plan).ok());
      for (const std::int64_t bytes : counted_bytes(task, found->plan)) {
        BOOST_TEST(bytes <= task.cluster.memory_bytes, algorithm.name);
      }
    }
  }
  BOOST_TEST(found_any >= 4 * kRounds);
}

BOOST_AUTO_TEST_CASE(tables_stay_whole_where_the_states_of_their_halves_would_not_fit) {
  // A row has 32 bytes of weights and 4 of state, each half of it 16 and 4.
  Workload workload;
  workload.tables = {test::make_table(1000, 8), test::make_table(1000, 8)};
  for (Table& table : workload.tables) table.optimizer = Optimizer::kRowwiseAdagrad;
  test::FusedEvaluator evaluator(workload, 2, {1, 1}, 0, true);
  const auto refine = [&](std::int64_t memory) {
    SearchOptions options;
    options.evaluations = 1000;
    const Cluster cluster = test::make_cluster(2, memory);
    return find_algorithm(kDefaultAlgorithm)->run({workload, cluster}, evaluator, options);
  };
  const auto found = refine(36000);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(found->plan.shards.size() == 2U);
  const Status refused = refine(35999).status();
  BOOST_TEST((refused.code() == StatusCode::kInfeasible));
  // On three, two of the four halves would have to share one.
  BOOST_TEST(refused.message() ==
             "2 tables need 70.3 KiB, more than 2 devices of 35999 B hold: 2 more devices would "
             "do, or 35.16KiB of memory per device");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
