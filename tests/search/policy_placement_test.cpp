// Placing by a policy: with simple rules in the place of a network, so that it can be said where
// pieces have to go.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "search/algorithms.h"
#include "search/policy/device_chooser.h"
#include "search/policy/episode.h"
#include "search/policy/policy_sharder.h"
#include "search/policy/rollout.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/limited_tables.h"
#include "tests/search/table_evaluator.h"
#include "tests/search/tight_tasks.h"

namespace neuroshard::search {

BOOST_AUTO_TEST_SUITE(policy_placement)

namespace {

using test::make_cluster;
using test::make_table;

/// For the device that costs least with the piece, by `eagerness`; 0: for all alike. Its states
/// count pieces, so that the sharder's upkeep of them shows.
class LeastCost final : public PlacementPolicy {
 public:
  explicit LeastCost(float eagerness) : eagerness_(eagerness) {}

  [[nodiscard]] std::unique_ptr<PolicyRun> begin(const Workload&) const override {
    return std::make_unique<Run>(eagerness_);
  }

 private:
  class Run final : public PolicyRun {
   public:
    explicit Run(float eagerness) : eagerness_(eagerness) {}
    void learn(std::span<const ShapeId> ids, std::span<const ShardShape>) override {
      known_.insert(ids.begin(), ids.end());
    }
    [[nodiscard]] std::size_t state_size() const override { return 1; }
    void clear(float* state) const override { *state = 0; }
    void place(ShapeId shape, float* state) const override {
      expect(known_.contains(shape));
      *state += 1;
    }
    [[nodiscard]] std::size_t memory_size() const override { return 1; }
    void scores(ShapeId shape, const Standing& standing, std::span<const float> states,
                std::span<float> memory, std::span<float> scores, Scratch&) const override {
      expect(known_.contains(shape));
      float placed = 0;
      for (const float held : states) placed += held;
      expect(memory.size() == 1 && memory[0] == placed);
      memory[0] += 1;
      for (std::size_t d = 0; d < scores.size(); ++d) {
        expect((states[d] == 0) == (standing.dims[d] == 0));
        scores[d] = -eagerness_ * standing.cost_after_ms[d];
      }
    }

   private:
    /// In any thread, where Boost.Test cannot be asked.
    static void expect(bool holds) {
      if (!holds) throw std::logic_error("a policy is not told what it should be");
    }

    const float eagerness_;
    std::set<ShapeId> known_;
  };

  const float eagerness_;
};

Workload tables_of(std::vector<Table> tables) { return {std::move(tables), 1024}; }

SearchOptions options_of(const PlacementPolicy& policy, std::int64_t samples = 0) {
  SearchOptions options;
  options.policy = &policy;
  options.policy_samples = samples;
  return options;
}

double plan_ms(Plan plan, PlanEvaluator& evaluator) {
  return test::canonical_cost(std::move(plan), evaluator);
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_policy_it_refuses) {
  const Workload workload = tables_of({make_table(10, 4)});
  test::TableEvaluator evaluator(workload, 2, {1});
  const auto found = shard_by_policy({workload, make_cluster(2, 1 << 20)}, evaluator, {});
  BOOST_TEST((found.status().code() == StatusCode::kInvalidInput));
  BOOST_TEST(found.status().message().find("policy: found none") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(it_is_found_by_name_but_is_not_among_the_algorithms_that_run_by_themselves) {
  for (const char* const name : {"dreamshard", "autoshard"}) {
    BOOST_REQUIRE(find_algorithm(name) != nullptr);
    BOOST_TEST((find_algorithm(name)->run == shard_by_policy));
    for (const Algorithm& algorithm : algorithms()) BOOST_TEST(algorithm.name != name);
  }
}

BOOST_AUTO_TEST_CASE(the_costliest_goes_first_and_ties_to_the_lowest_device) {
  const Workload workload = tables_of({make_table(10, 4), make_table(10, 4), make_table(10, 4)});
  test::TableEvaluator evaluator(workload, 3, {1, 3, 2}, 10);
  const LeastCost policy(1);
  const auto found =
      shard_by_policy({workload, make_cluster(3, 1 << 20)}, evaluator, options_of(policy));
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(test::devices_of(found->plan) == (std::vector<std::int32_t>{2, 0, 1}));
}

BOOST_AUTO_TEST_CASE(equal_scores_go_to_the_lowest_device_that_is_allowed) {
  const float scores[] = {1, 2, 2, 0};
  const unsigned char all[] = {1, 1, 1, 1};
  const unsigned char last[] = {1, 0, 1, 1};
  BOOST_TEST(best_device(scores, all) == 1);
  BOOST_TEST(best_device(scores, last) == 2);
}

BOOST_AUTO_TEST_CASE(devices_are_drawn_as_often_as_their_probabilities_say) {
  const float scores[] = {0, std::log(3.0f), 5};
  const unsigned char allowed[] = {1, 1, 0};
  int first = 0;
  for (int k = 0; k < 1000; ++k) {
    const std::int32_t drawn = drawn_device(scores, allowed, (k + 0.5) / 1000);
    BOOST_TEST(drawn < 2);
    first += drawn == 0 ? 1 : 0;
  }
  BOOST_TEST(first == 250);
}

BOOST_AUTO_TEST_CASE(a_table_that_costs_more_than_the_balanced_load_is_halved) {
  const Workload workload = tables_of({make_table(10, 64), make_table(10, 64)});
  test::TableEvaluator evaluator(workload, 4, {8, 8});
  const LeastCost policy(1);
  const auto found =
      shard_by_policy({workload, make_cluster(4, 1 << 20)}, evaluator, options_of(policy));
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(plan_ms(found->plan, evaluator) == 4);
}

BOOST_AUTO_TEST_CASE(what_makes_one_device_the_slowest_is_halved) {
  // None costs more than the balanced load, 6.
  const Workload workload = tables_of({make_table(10, 64), make_table(10, 64), make_table(10, 64)});
  test::TableEvaluator evaluator(workload, 2, {4, 4, 4});
  const LeastCost policy(1);
  const auto found =
      shard_by_policy({workload, make_cluster(2, 1 << 20)}, evaluator, options_of(policy));
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(plan_ms(found->plan, evaluator) == 6);
  BOOST_TEST(found->plan.shards.size() == 4u);
}

BOOST_AUTO_TEST_CASE(tables_are_halved_only_where_they_may_be) {
  const Workload whole = tables_of(
      {test::table_of(10, 64, test::kOnlyWhole), test::table_of(10, 64, test::kOnlyWhole)});
  test::TableEvaluator evaluator(whole, 4, {8, 8});
  const LeastCost policy(1);
  const auto found =
      shard_by_policy({whole, make_cluster(4, 1 << 20)}, evaluator, options_of(policy, 4));
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(found->plan.shards.size() == 2u);

  const Workload columns = tables_of({test::table_of(10, 64, test::kOnlyColumns)});
  test::TableEvaluator of_columns(columns, 2, {1}, 5);
  const auto split =
      shard_by_policy({columns, make_cluster(2, 1 << 20)}, of_columns, options_of(policy, 4));
  BOOST_REQUIRE_MESSAGE(split.ok(), split.status().message());
  BOOST_TEST(split->plan.shards.size() >= 2u);
}

BOOST_AUTO_TEST_CASE(a_table_that_may_not_be_whole_is_on_several_devices) {
  // Both halves of the second would go to the device without the first.
  const Workload workload = tables_of(
      {test::table_of(10, 64, test::kOnlyWhole), test::table_of(10, 8, test::kOnlyColumns)});
  test::TableEvaluator evaluator(workload, 2, {8, 1});
  const LeastCost policy(1);
  const auto found =
      shard_by_policy({workload, make_cluster(2, 1 << 20)}, evaluator, options_of(policy, 4));
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(test::devices_of(found->plan) == (std::vector<std::int32_t>{0, 1, 0}));
  // Memory comes first: the first table leaves no room.
  const Problem tight(workload, make_cluster(2, 64 * 10 * 4));
  const auto packed = shard_by_policy(tight, evaluator, options_of(policy, 4));
  BOOST_REQUIRE_MESSAGE(packed.ok(), packed.status().message());
  BOOST_TEST(test::devices_of(packed->plan) == (std::vector<std::int32_t>{0, 1, 1}));
}

BOOST_AUTO_TEST_CASE(tables_are_on_devices_that_they_may_be_on) {
  Workload workload = tables_of({make_table(10, 8), make_table(10, 8), make_table(10, 8)});
  workload.tables[0].devices = DeviceSet({2});
  workload.tables[1].devices = DeviceSet({1, 2});
  test::TableEvaluator evaluator(workload, 3, {5, 3, 1});
  const LeastCost policy(1);
  const auto found =
      shard_by_policy({workload, make_cluster(3, 1 << 20)}, evaluator, options_of(policy, 8));
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  for (const Shard& shard : found->plan.shards) {
    const auto table = static_cast<std::size_t>(shard.table);
    BOOST_TEST(workload.tables[table].devices.has(shard.device));
  }
}

BOOST_AUTO_TEST_CASE(dims_are_what_shards_have_travel) {
  /// Columns of the first table are looked up ten times a sample, and each is an output.
  class Sequences final : public test::TableEvaluator {
   public:
    using TableEvaluator::TableEvaluator;
    [[nodiscard]] Exchanged exchanged(const ShardShape& shape) const override {
      return {shape.table == 0 ? 10 * shape.dim : shape.dim, {}};
    }
  };
  const Workload workload = tables_of({make_table(10, 8), make_table(10, 8), make_table(10, 8)});
  Sequences evaluator(workload, 2, {1, 1, 1}, 0, 1);
  const SearchSpace space = space_of(workload);
  const std::vector<std::int32_t> all{0, 1, 2};
  const std::vector<PolicyPiece> pieces = PieceCutter(space, evaluator).cut(all, {});
  const LeastCost policy(1);
  const auto run = policy.begin(workload);
  for (const PolicyPiece& piece : pieces) run->learn({&piece.shape, 1}, {});
  Episode episode(evaluator, *run);
  const EpisodeSetting setting = episode_setting(pieces, evaluator, 1 << 20);
  BOOST_TEST(setting.mean_dims == 48);
  episode.reset(setting);
  for (const PolicyPiece& piece : pieces) {
    BOOST_REQUIRE(episode.offer(piece));
    BOOST_TEST(episode.standing().piece_dims == (piece.shard.table == 0 ? 80 : 8));
    episode.place(piece, piece.shard.table == 0 ? 0 : 1);
  }
  BOOST_TEST(episode.placed().dim_sums[0] == 80);
  BOOST_TEST(episode.placed().dim_sums[1] == 16);
}

BOOST_AUTO_TEST_CASE(devices_never_have_more_than_their_memory_where_packing_finds_a_plan) {
  const auto run = [](const Problem& problem, PlanEvaluator& evaluator, int round) {
    const LeastCost policy(round % 2 == 0 ? 1.0f : 0.0f);
    return shard_by_policy(problem, evaluator, options_of(policy, 3));
  };
  const auto look = [](const Workload&, const SearchResult&) {};
  BOOST_TEST(test::found_in_tight_tasks(7, run, look) > 150);
}

BOOST_AUTO_TEST_CASE(more_samples_never_cost_more_and_threads_change_nothing) {
  Rng rng(9);
  for (int round = 0; round < 10; ++round) {
    const Workload workload = test::many_tables(rng, 20);
    const Cluster cluster = test::cluster_with_room(workload, 4, 1.5);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    const LeastCost policy(0.5f);
    const Problem problem(workload, cluster);
    double before = std::numeric_limits<double>::infinity();
    for (const std::int64_t samples : {0, 1, 5, 33}) {
      SearchOptions options = options_of(policy, samples);
      const auto alone = shard_by_policy(problem, evaluator, options);
      BOOST_REQUIRE_MESSAGE(alone.ok(), alone.status().message());
      BOOST_TEST(!alone->stopped_early);
      ThreadPool pool(3);
      options.pool = &pool;
      const auto together = shard_by_policy(problem, evaluator, options);
      BOOST_REQUIRE(together.ok());
      BOOST_TEST((together->plan == alone->plan));
      const double cost = plan_ms(alone->plan, evaluator);
      BOOST_TEST(cost <= before * 1.00001);
      before = cost;
    }
  }
}

BOOST_AUTO_TEST_CASE(another_seed_draws_other_plans) {
  Rng rng(10);
  const Workload workload = test::many_tables(rng, 20);
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
  const LeastCost policy(0);
  std::set<double> costs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    SearchOptions options = options_of(policy, 5);
    options.seed = seed;
    const auto found =
        shard_by_policy({workload, test::cluster_with_room(workload, 4, 2)}, evaluator, options);
    BOOST_REQUIRE(found.ok());
    costs.insert(plan_ms(found->plan, evaluator));
  }
  BOOST_TEST(costs.size() > 1u);
}

BOOST_AUTO_TEST_CASE(whoever_cancels_before_there_is_a_plan_gets_none) {
  const Workload workload = tables_of({make_table(10, 4)});
  test::TableEvaluator evaluator(workload, 2, {1});
  const LeastCost policy(1);
  SearchOptions options = options_of(policy);
  CancelToken token;
  token.cancel();
  options.cancel = &token;
  const auto found = shard_by_policy({workload, make_cluster(2, 1 << 20)}, evaluator, options);
  BOOST_TEST((found.status().code() == StatusCode::kCancelled));
}

BOOST_AUTO_TEST_CASE(a_time_limit_ends_the_drawing_with_the_best_plan_so_far) {
  Rng rng(11);
  const Workload workload = test::many_tables(rng, 40);
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
  const LeastCost policy(1);
  SearchOptions options = options_of(policy, 1'000'000'000);
  options.time_limit_s = 0.05;
  const Cluster cluster = test::cluster_with_room(workload, 4, 2);
  const auto found = shard_by_policy({workload, cluster}, evaluator, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(found->stopped_early);
  BOOST_TEST(test::fits(workload, found->plan, cluster));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
