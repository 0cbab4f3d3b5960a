// Surrogate costs that are learned: what their gradient is made of, and the plans that they lead
// to.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "engine/core/plan_check.h"
#include "search/algorithms.h"
#include "search/surco/adam.h"
#include "search/surco/placed_pieces.h"
#include "search/surco/plan_slopes.h"
#include "search/surco/relaxed_assignment.h"
#include "search/surco/start_costs.h"
#include "search/surco/surco_sharder.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/limited_tables.h"
#include "tests/search/table_evaluator.h"
#include "tests/search/tight_tasks.h"

namespace neuroshard::search {

BOOST_AUTO_TEST_SUITE(surco)

namespace {

using test::make_cluster;
using test::make_table;

SearchOptions steps(std::int64_t count, std::uint64_t seed = 0) {
  SearchOptions options;
  options.seed = seed;
  options.evaluations = count;
  return options;
}

/// Pieces of whole tables, each on a random device.
std::vector<PolicyPiece> random_pieces(const SearchSpace& space, PlanEvaluator& evaluator,
                                       Rng& rng) {
  std::vector<std::int32_t> tables(space.tables.size());
  std::iota(tables.begin(), tables.end(), 0);
  std::vector<PolicyPiece> pieces = PieceCutter(space, evaluator).cut(tables, {});
  for (PolicyPiece& piece : pieces) {
    piece.shard.device = static_cast<std::int32_t>(rng.between(0, evaluator.devices() - 1));
  }
  return pieces;
}

/// Wants the table numbered t on device t modulo the devices, for sure.
class TurnPolicy final : public PlacementPolicy {
 public:
  [[nodiscard]] std::unique_ptr<PolicyRun> begin(const Workload&) const override {
    return std::make_unique<Run>();
  }

 private:
  class Run final : public PolicyRun {
   public:
    void learn(std::span<const ShapeId> ids, std::span<const ShardShape> shapes) override {
      for (std::size_t k = 0; k < ids.size(); ++k) tables_[ids[k]] = shapes[k].table;
    }
    [[nodiscard]] std::size_t state_size() const override { return 0; }
    void clear(float*) const override {}
    void place(ShapeId, float*) const override {}
    void scores(ShapeId shape, const Standing&, std::span<const float>, std::span<float>,
                std::span<float> scores, Scratch&) const override {
      std::fill(scores.begin(), scores.end(), 0.0f);
      scores[static_cast<std::size_t>(tables_.at(shape)) % scores.size()] = 5;
    }

   private:
    std::map<ShapeId, std::int32_t> tables_;
  };
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_piece_adds_is_the_device_with_it_less_without_it) {
  Rng rng(1);
  for (int round = 0; round < 20; ++round) {
    const Workload workload = test::many_tables(rng, 12);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    const SearchSpace space = space_of(workload);
    const std::vector<PolicyPiece> pieces = random_pieces(space, evaluator, rng);
    PlacedPieces placed(evaluator);
    placed.place(pieces);
    std::vector<double> added(pieces.size() * 4);
    placed.added_compute(pieces, added);
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      for (std::size_t d = 0; d < 4; ++d) {
        // Both from scratch, without the piece and then with it.
        AlignedVector<float> state(evaluator.state_size());
        evaluator.clear(state.data());
        float cost = evaluator.empty_cost();
        for (std::size_t other = 0; other < pieces.size(); ++other) {
          if (other == p || pieces[other].shard.device != static_cast<std::int32_t>(d)) continue;
          cost = evaluator.place(pieces[other].shape, state.data());
        }
        const float with = evaluator.place(pieces[p].shape, state.data());
        BOOST_TEST(std::abs(added[p * 4 + d] - (with - cost)) < 1e-4);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_slowest_device_counts_alone_or_the_most) {
  const Workload workload{{make_table(10, 4)}, 1024};
  const test::TableEvaluator evaluator(workload, 3, {1});
  const std::vector<float> compute{1, 4, 3};
  const std::vector<std::int64_t> dims{8, 8, 8};
  Scratch scratch;
  const PlanSlopes hard = plan_slopes({1, compute, dims}, evaluator, 0.001, scratch);
  BOOST_TEST(std::abs(hard.per_compute[1] - 1) < 1e-3);
  BOOST_TEST(hard.per_compute[0] < 1e-3);
  const PlanSlopes soft = plan_slopes({1, compute, dims}, evaluator, 0.25, scratch);
  BOOST_TEST(std::abs(soft.per_compute[0] + soft.per_compute[1] + soft.per_compute[2] - 1) < 1e-3);
  BOOST_TEST(std::abs(soft.per_compute[2] / soft.per_compute[1] - std::exp(-1.0)) < 1e-3);
  BOOST_TEST(std::abs(soft.per_compute[0] / soft.per_compute[1] - std::exp(-3.0)) < 1e-3);
  for (const double slope : soft.per_dim) BOOST_TEST(std::abs(slope) < 1e-3);
  // A device's total grows by half a ms per dim.
  const test::TableEvaluator by_dims(workload, 3, {1}, 0, 0.5);
  const PlanSlopes wide = plan_slopes({1, compute, dims}, by_dims, 0.001, scratch);
  BOOST_TEST(std::abs(wide.per_dim[1] - 0.5) < 1e-3);
  BOOST_TEST(std::abs(wide.per_dim[0]) < 1e-3);
}

BOOST_AUTO_TEST_CASE(adam_goes_by_its_rate_and_down) {
  Adam adam(2, 0.05);
  std::vector<double> at{1, -2};
  const auto gradient = [&] { return std::vector<double>{2 * at[0], 200 * at[1]}; };
  adam.step(gradient(), at);
  // The first step is the rate, whatever the gradient.
  BOOST_TEST(std::abs(at[0] - 0.95) < 1e-6);
  BOOST_TEST(std::abs(at[1] + 1.95) < 1e-6);
  for (int k = 0; k < 500; ++k) adam.step(gradient(), at);
  BOOST_TEST(std::abs(at[0]) < 0.02);
  BOOST_TEST(std::abs(at[1]) < 0.02);
}

BOOST_AUTO_TEST_CASE(more_steps_never_cost_more_and_the_gradient_helps) {
  Rng rng(2);
  double first = 0;
  double last = 0;
  for (int round = 0; round < 20; ++round) {
    const Workload workload = test::many_tables(rng, 20);
    const Problem problem(workload, test::cluster_with_room(workload, 4, 1.5));
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    double before = std::numeric_limits<double>::infinity();
    for (const std::int64_t count : {1, 5, 20, 60}) {
      const auto found = shard_surco(problem, evaluator, steps(count));
      BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
      BOOST_TEST(found->evaluations <= count);
      BOOST_TEST(!found->stopped_early);
      BOOST_TEST(validate(workload, found->plan).ok());
      const double cost = test::canonical_cost(found->plan, evaluator);
      BOOST_TEST(cost <= before * 1.00001);
      before = cost;
      if (count == 1) first += cost;
    }
    last += before;
  }
  BOOST_TEST(last < 0.75 * first);
}

BOOST_AUTO_TEST_CASE(without_a_number_it_takes_its_own_steps) {
  Rng rng(3);
  const Workload workload = test::many_tables(rng, 12);
  const Problem problem(workload, test::cluster_with_room(workload, 3, 2));
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 3);
  const auto own = shard_surco(problem, evaluator, {});
  BOOST_REQUIRE(own.ok());
  BOOST_TEST(own->evaluations == kSurcoSteps);
  BOOST_TEST((own->plan == shard_surco(problem, evaluator, steps(kSurcoSteps))->plan));
}

BOOST_AUTO_TEST_CASE(threads_change_nothing_and_seeds_do) {
  Rng rng(4);
  const Workload workload = test::many_tables(rng, 20);
  const Problem problem(workload, test::cluster_with_room(workload, 4, 1.3));
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
  std::set<double> costs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    SearchOptions options = steps(10, seed);
    const auto alone = shard_surco(problem, evaluator, options);
    BOOST_REQUIRE(alone.ok());
    ThreadPool pool(3);
    options.pool = &pool;
    BOOST_TEST((shard_surco(problem, evaluator, options)->plan == alone->plan));
    costs.insert(test::canonical_cost(alone->plan, evaluator));
  }
  BOOST_TEST(costs.size() == 3u);
}

BOOST_AUTO_TEST_CASE(devices_never_have_more_than_their_memory_where_packing_fits_the_tables) {
  int learned = 0;
  const auto run = [](const Problem& problem, PlanEvaluator& evaluator, int) {
    return shard_surco(problem, evaluator, {});
  };
  const auto look = [&](const Workload& workload, const SearchResult& found) {
    learned += found.evaluations > 1 ? 1 : 0;
    BOOST_TEST(validate(workload, found.plan).ok());
  };
  BOOST_TEST(test::found_in_tight_tasks(5, run, look) > 150);
  BOOST_TEST(learned > 60);
}

BOOST_AUTO_TEST_CASE(tables_are_whole_where_they_may_be_and_fit) {
  const Workload whole{
      {test::table_of(10, 64, test::kOnlyWhole), test::table_of(10, 64, test::kOnlyWhole)}, 1024};
  test::TableEvaluator evaluator(whole, 4, {8, 8});
  const auto found = shard_surco({whole, make_cluster(4, 1 << 20)}, evaluator, {});
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(found->plan.shards.size() == 2u);

  // No device gets all of one that may not be whole.
  const Workload columns{{test::table_of(10, 64, test::kOnlyColumns)}, 1024};
  test::TableEvaluator of_columns(columns, 2, {1}, 5);
  const auto split = shard_surco({columns, make_cluster(2, 1 << 20)}, of_columns, {});
  BOOST_REQUIRE_MESSAGE(split.ok(), split.status().message());
  BOOST_TEST(test::devices_of(split->plan).size() == 2u);
  BOOST_TEST(test::devices_of(split->plan)[0] != test::devices_of(split->plan)[1]);

  const Workload large{{make_table(1000, 64), make_table(10, 4)}, 1024};
  test::TableEvaluator of_large(large, 4, {8, 1});
  const Cluster small = make_cluster(4, 1000 * 64 * 4 / 2);
  const auto halved = shard_surco({large, small}, of_large, {});
  BOOST_REQUIRE_MESSAGE(halved.ok(), halved.status().message());
  BOOST_TEST(test::fits(large, halved->plan, small));
}

BOOST_AUTO_TEST_CASE(tables_are_on_devices_that_they_may_be_on_alone) {
  Rng rng(6);
  for (int round = 0; round < 20; ++round) {
    Workload workload = test::many_tables(rng, 10);
    for (std::size_t k = 0; k < 5; ++k) {
      workload.tables[k].devices =
          DeviceSet({static_cast<std::int32_t>(k % 3), static_cast<std::int32_t>(rng.below(3))});
    }
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 3);
    const auto found =
        shard_surco({workload, test::cluster_with_room(workload, 3, 2)}, evaluator, {});
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    for (const Shard& shard : found->plan.shards) {
      const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
      BOOST_TEST(table.devices.has(shard.device));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_single_device_has_all_tables) {
  Rng rng(7);
  const Workload workload = test::many_tables(rng, 5);
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 1);
  const auto found =
      shard_surco({workload, test::cluster_with_room(workload, 1, 1.5)}, evaluator, {});
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(test::devices_of(found->plan) == std::vector<std::int32_t>(5, 0));
}

BOOST_AUTO_TEST_CASE(a_policy_says_where_it_begins) {
  Rng rng(8);
  const Workload workload = test::many_tables(rng, 9);
  const Problem problem(workload, test::cluster_with_room(workload, 3, 3));
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 3);
  const TurnPolicy policy;
  SearchOptions options = steps(1);
  options.policy = &policy;
  const auto first = shard_surco(problem, evaluator, options);
  BOOST_REQUIRE_MESSAGE(first.ok(), first.status().message());
  BOOST_TEST(test::devices_of(first->plan) ==
             (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
  options.evaluations = 40;
  const auto learned = shard_surco(problem, evaluator, options);
  BOOST_REQUIRE(learned.ok());
  BOOST_TEST(test::canonical_cost(learned->plan, evaluator) <
             test::canonical_cost(first->plan, evaluator));
}

BOOST_AUTO_TEST_CASE(shares_begin_as_the_probabilities_of_a_policy) {
  const Workload workload{{make_table(10, 4), make_table(1000, 4), make_table(10, 4)}, 1024};
  test::TableEvaluator evaluator(workload, 2, {3, 2, 1});
  const SearchSpace space = space_of(workload);
  const std::vector<std::int32_t> all{0, 1, 2};
  const std::vector<PolicyPiece> pieces = PieceCutter(space, evaluator).cut(all, {});
  const std::unique_ptr<PolicyRun> run = TurnPolicy().begin(workload);
  // The second has no place, so that the third is never asked about.
  const std::vector<double> costs = policy_costs(pieces, *run, evaluator, 10 * 4 * 4, 0.1);
  BOOST_TEST(costs == (std::vector<double>{0, 0.5, 1, 1, 1, 1}), boost::test_tools::per_element());
  RelaxedAssignment relaxed({pieces.data(), 1}, 2, 1 << 20, 0.1);
  BOOST_REQUIRE(relaxed.solve({costs.data(), 2}, StopCheck(SearchOptions{})));
  BOOST_TEST(std::abs(relaxed.shares()[0] - 1 / (1 + std::exp(-5.0))) < 1e-9);
  // However sure it is.
  const std::vector<double> sure = policy_costs(pieces, *run, evaluator, 10 * 4 * 4, 3);
  BOOST_TEST(sure[1] == 1);
}

BOOST_AUTO_TEST_CASE(costs_that_overflow_lead_to_a_plan_all_the_same) {
  const Workload workload{{make_table(10, 4), make_table(10, 4), make_table(10, 4)}, 1024};
  const float most = std::numeric_limits<float>::max();
  test::TableEvaluator evaluator(workload, 2, {most, most, most});
  const auto found = shard_surco({workload, make_cluster(2, 1 << 20)}, evaluator, {});
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(validate(workload, found->plan).ok());
}

BOOST_AUTO_TEST_CASE(too_many_costs_are_refused_in_one_line) {
  Workload workload;
  workload.tables.assign(5000, make_table(10, 4));
  test::TableEvaluator evaluator(workload, 1000, std::vector<float>(5000, 1.0f));
  const auto found = shard_surco({workload, make_cluster(1000, 1 << 20)}, evaluator, {});
  BOOST_TEST((found.status().code() == StatusCode::kInvalidInput));
  BOOST_TEST(found.status().message() ==
             "this algorithm learns a cost for each table on each device, at most 4000000: 5000 "
             "tables on 1000 devices have 5000000; fewer tables or another algorithm would do");
}

BOOST_AUTO_TEST_CASE(a_cancelled_search_has_no_plan_and_a_time_limit_leaves_the_best) {
  Rng rng(9);
  const Workload workload = test::many_tables(rng, 20);
  const Problem problem(workload, test::cluster_with_room(workload, 4, 2));
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
  CancelToken token;
  token.cancel();
  SearchOptions options;
  options.cancel = &token;
  const auto cancelled = shard_surco(problem, evaluator, options);
  BOOST_TEST((cancelled.status().code() == StatusCode::kCancelled));
  SearchOptions limited = steps(1'000'000'000);
  limited.time_limit_s = 0.05;
  const auto found = shard_surco(problem, evaluator, limited);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(found->stopped_early);
  BOOST_TEST(found->evaluations > 1);
  BOOST_TEST(test::fits(workload, found->plan, problem.cluster));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
