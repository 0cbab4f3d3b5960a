// The paper's search: against a naive transcription of its rules, against brute force, and what it
// does where the paper's gives up.
#include "search/neuroshard.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "search/feasibility.h"
#include "search/problem.h"
#include "tests/search/naive_neuroshard.h"
#include "tests/search/table_evaluator.h"
#include "tests/support/sanitized.h"

namespace neuroshard {

using search::SearchOptions;
using search::SearchResult;
using search::shard_neuroshard;
using test::make_cluster;
using test::make_table;
using test::TableEvaluator;

BOOST_AUTO_TEST_SUITE(neuroshard)

namespace {

constexpr std::int64_t kMuch = std::int64_t{1} << 40;

/// Random table costs, some equal; splitting costs 0.25 a shard, dims cost a little.
TableEvaluator random_evaluator(Rng& rng, const Workload& workload, std::int32_t devices) {
  std::vector<float> costs;
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    costs.push_back(static_cast<float>(rng.between(1, 12)));
  }
  return {workload, devices, costs, 0.25f, 0.01};
}

/// Memory between "just about all tables" and plenty.
std::int64_t random_memory(Rng& rng, const Workload& workload, std::int32_t devices) {
  const auto total = static_cast<double>(workload_bytes(workload));
  return static_cast<std::int64_t>(total / devices * (1 + rng.uniform()));
}

/// Lowest cost of any placement of `shards` from index `at` on.
double best_placement(Plan& plan, std::size_t at, const Workload& workload, const Cluster& cluster,
                      TableEvaluator& evaluator) {
  if (at == plan.shards.size()) {
    for (const std::int64_t bytes : device_bytes(workload, plan)) {
      if (bytes > cluster.memory_bytes) return std::numeric_limits<double>::infinity();
    }
    return cost_of(plan, evaluator);
  }
  double lowest = std::numeric_limits<double>::infinity();
  for (std::int32_t device = 0; device < cluster.devices; ++device) {
    plan.shards[at].device = device;
    lowest = std::min(lowest, best_placement(plan, at + 1, workload, cluster, evaluator));
  }
  return lowest;
}

/// Lowest cost over all placements of all ways to halve shards, `splits` at most.
double brute_force(const std::vector<Shard>& shards, int splits, const Workload& workload,
                   const Cluster& cluster, TableEvaluator& evaluator) {
  Plan plan{cluster.devices, shards};
  double lowest = best_placement(plan, 0, workload, cluster, evaluator);
  for (std::size_t index = 0; splits > 0 && index < shards.size(); ++index) {
    if (shards[index].dim() % 8 != 0) continue;
    std::vector<Shard> child = shards;
    child.push_back(child[index]);
    child[index].column_end -= shards[index].dim() / 2;
    child.back().column_begin = child[index].column_end;
    lowest = std::min(lowest, brute_force(child, splits - 1, workload, cluster, evaluator));
  }
  return lowest;
}

class CancelAtLevel : public ProgressSink {
 public:
  CancelAtLevel(int level, CancelToken& token) : level_(level), token_(token) {}
  void update(std::string_view, std::int64_t done, std::int64_t, std::string_view) override {
    if (done == level_) token_.cancel();
  }

 private:
  int level_;
  CancelToken& token_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(finds_what_the_rules_read_literally_find) {
  Rng rng(11);
  int feasible = 0;
  int split = 0;
  constexpr int kTasks = test::unless_sanitized(60, 15);
  for (int task = 0; task < kTasks; ++task) {
    const Workload workload = test::random_workload(rng, 14);
    const auto devices = static_cast<std::int32_t>(rng.between(1, 5));
    const Cluster cluster = make_cluster(devices, random_memory(rng, workload, devices));
    TableEvaluator evaluator = random_evaluator(rng, workload, devices);
    const std::optional<Plan> expected = test::naive_neuroshard(workload, cluster, evaluator);
    const Result<SearchResult> found = shard_neuroshard({workload, cluster}, evaluator, {});
    if (found.ok()) {
      BOOST_TEST(validate(workload, found->plan).ok());
      for (const std::int64_t bytes : device_bytes(workload, found->plan)) {
        BOOST_TEST(bytes <= cluster.memory_bytes);
      }
    }
    if (!expected) continue;
    ++feasible;
    BOOST_REQUIRE(found.ok());
    split += found->plan.shards.size() > workload.tables.size();
    Plan plan = found->plan;
    Plan naive = *expected;
    canonicalize(plan);
    canonicalize(naive);
    BOOST_TEST((plan == naive), "task " << task);
  }
  BOOST_TEST(2 * feasible > kTasks);  // the comparison must have had something to compare
  BOOST_TEST(4 * split > kTasks);
}

BOOST_AUTO_TEST_CASE(is_never_below_the_optimum_and_often_at_it) {
  Rng rng(5);
  int optimal = 0;
  for (int task = 0; task < 25; ++task) {
    const Workload workload = test::random_workload(rng, 4);
    const Cluster cluster = make_cluster(2, kMuch);
    TableEvaluator evaluator = random_evaluator(rng, workload, 2);
    const Result<SearchResult> found = shard_neuroshard({workload, cluster}, evaluator, {});
    BOOST_REQUIRE(found.ok());
    const std::size_t splits = found->plan.shards.size() - workload.tables.size();
    std::vector<Shard> whole;
    for (std::size_t k = 0; k < workload.tables.size(); ++k) {
      whole.push_back(whole_table(workload, static_cast<std::int32_t>(k), 0));
    }
    const double lowest = brute_force(whole, static_cast<int>(std::min<std::size_t>(splits, 3)),
                                      workload, cluster, evaluator);
    const double cost = cost_of(found->plan, evaluator);
    if (splits <= 3) BOOST_TEST(cost >= lowest - 1e-5);
    optimal += cost <= lowest + 1e-5;
  }
  BOOST_TEST(optimal >= 10);
}

BOOST_AUTO_TEST_CASE(ties_of_the_placement_are_as_stated) {
  // Costs 4, 4, 2, 2, dims all 16, two devices, cap 32 from the first step on. Equal costs: the
  // later first, so 1 -> device 0, 0 -> device 1 (least load), then 3: loads 4 = 4, and device 1
  // holds less memory (table 0 is smaller): device 1; 2 -> device 0.
  Workload workload;
  workload.tables = {make_table(100, 16), make_table(200, 16), make_table(10, 16),
                     make_table(10, 16)};
  TableEvaluator evaluator(workload, 2, {4, 4, 2, 2}, 1.0f);
  const auto found = shard_neuroshard({workload, make_cluster(2, kMuch)}, evaluator, {});
  const std::vector<std::int32_t> expected{1, 0, 0, 1};
  BOOST_TEST(test::devices_of(found->plan) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_plan_does_not_depend_on_threads) {
  Rng rng(3);
  ThreadPool pool(4);
  for (int task = 0; task < 10; ++task) {
    const Workload workload = test::random_workload(rng, 30);
    const Cluster cluster = make_cluster(4, random_memory(rng, workload, 4));
    TableEvaluator evaluator = random_evaluator(rng, workload, 4);
    TableEvaluator same = evaluator;
    SearchOptions threaded;
    threaded.pool = &pool;
    const auto alone = shard_neuroshard({workload, cluster}, evaluator, {});
    const auto together = shard_neuroshard({workload, cluster}, same, threaded);
    BOOST_REQUIRE(alone.ok() == together.ok());
    if (!alone.ok()) continue;
    BOOST_TEST((alone->plan == together->plan));
    BOOST_TEST(alone->evaluations == together->evaluations);
  }
}

BOOST_AUTO_TEST_CASE(a_table_no_device_holds_is_split_until_it_fits) {
  Workload workload;
  workload.tables = {make_table(1000, 64), make_table(10, 8)};  // 256,000 bytes and 320
  TableEvaluator evaluator(workload, 4, {8, 1});
  const auto found = shard_neuroshard({workload, make_cluster(4, 64500)}, evaluator, {});
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(validate(workload, found->plan).ok());
  for (const std::int64_t bytes : device_bytes(workload, found->plan)) BOOST_TEST(bytes <= 64500);
}

BOOST_AUTO_TEST_CASE(uneven_dims_are_split_when_nothing_else_fits) {
  // 20 columns cannot be halved into multiples of 4; as a last resort they go 12 + 8.
  Workload workload;
  workload.tables = {make_table(1000, 20)};
  TableEvaluator evaluator(workload, 2, {8});
  const auto found = shard_neuroshard({workload, make_cluster(2, 50000)}, evaluator, {});
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(validate(workload, found->plan).ok());
  BOOST_TEST(found->plan.shards.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_plan_beyond_all_caps_is_better_than_none) {
  // 3 shards of 4 dims on 2 devices: the mean is 6 dims, a device needs 8, more than 1.5 x 5 when
  // the third has 2 columns. Memory leaves no choice, and none can be split.
  Workload workload;
  workload.tables = {make_table(100, 4), make_table(100, 4), make_table(1000, 2)};
  TableEvaluator evaluator(workload, 2, {1, 1, 1});
  const auto found = shard_neuroshard({workload, make_cluster(2, 8000)}, evaluator, {});
  BOOST_REQUIRE(found.ok());
  const std::vector<std::int32_t> devices = test::devices_of(found->plan);
  BOOST_TEST(devices[0] == devices[1]);
  BOOST_TEST(devices[0] != devices[2]);
}

BOOST_AUTO_TEST_CASE(splits_are_made_where_whole_tables_fit_singly_but_not_together) {
  // Three tables of 60 on two devices of 100: one has to be split.
  Workload workload;
  workload.tables = {make_table(15, 20), make_table(15, 20), make_table(15, 20)};
  TableEvaluator evaluator(workload, 2, {1, 1, 1});
  const auto found = shard_neuroshard({workload, make_cluster(2, 2000)}, evaluator, {});
  BOOST_REQUIRE(found.ok());
  for (const std::int64_t bytes : device_bytes(workload, found->plan)) BOOST_TEST(bytes <= 2000);
}

BOOST_AUTO_TEST_CASE(a_piece_too_large_for_any_device_is_named) {
  Workload workload;
  workload.tables = {make_table(10, 8), make_table(1000, 64)};
  workload.tables[1].name = "ads";
  TableEvaluator evaluator(workload, 64, {1, 8});
  const auto failed = shard_neuroshard({workload, make_cluster(64, 15999)}, evaluator, {});
  BOOST_REQUIRE(!failed.ok());
  BOOST_TEST((failed.status().code() == StatusCode::kInfeasible));
  BOOST_TEST(failed.status().message() ==
             "table 1 (ads) needs 16000 B even split to 4 columns, devices have 15999 B: needs "
             "at least 15.63KiB of memory per device");
  BOOST_TEST(shard_neuroshard({workload, make_cluster(64, 16000)}, evaluator, {}).ok());
}

BOOST_AUTO_TEST_CASE(the_change_named_is_one_that_both_the_sum_and_the_pieces_fit) {
  Workload workload;
  workload.tables = {make_table(1000, 4)};  // one piece of 16,000 bytes
  TableEvaluator evaluator(workload, 2, {1});
  const auto message = [&](std::int32_t devices, std::int64_t memory) {
    const auto failed = shard_neuroshard({workload, make_cluster(devices, memory)}, evaluator, {});
    BOOST_TEST((failed.status().code() == StatusCode::kInfeasible));
    return failed.status().message();
  };
  BOOST_TEST(message(2, 1000) ==
             "1 table needs 15.6 KiB, more than 2 devices of 1000 B hold: needs at least 15.63KiB "
             "of memory per device");
  BOOST_TEST(message(16, 1000) ==
             "table 0 needs 15.6 KiB even split to 4 columns, devices have 1000 B: needs at least "
             "15.63KiB of memory per device");
  BOOST_TEST(shard_neuroshard({workload, make_cluster(2, 16000)}, evaluator, {}).ok());
  workload.tables = {make_table(1000, 8)};
  BOOST_TEST(message(1, 16000) ==
             "1 table needs 31.2 KiB, more than 1 device of 15.6 KiB holds: needs at least 1 more "
             "device, or at least 31.25KiB of memory per device");
  TableEvaluator two(workload, 2, {1});
  BOOST_TEST(shard_neuroshard({workload, make_cluster(2, 16000)}, two, {}).ok());
}

BOOST_AUTO_TEST_CASE(pieces_that_do_not_pack_say_which_memory_would_do) {
  // Three unsplittable pieces of 60 on two devices of 100.
  Workload workload;
  workload.tables = {make_table(15, 1), make_table(15, 1), make_table(15, 1)};
  TableEvaluator evaluator(workload, 2, {1, 1, 1});
  const auto failed = shard_neuroshard({workload, make_cluster(2, 100)}, evaluator, {});
  BOOST_REQUIRE(!failed.ok());
  BOOST_TEST(failed.status().message() ==
             "found no way to fit 3 tables (180 B), whole or split, on 2 devices of 100 B: 120B of "
             "memory per device would do");
  BOOST_TEST(shard_neuroshard({workload, make_cluster(2, 120)}, evaluator, {}).ok());
}

BOOST_AUTO_TEST_CASE(cancelled_searches_give_what_they_have) {
  Rng rng(9);
  Workload workload;
  for (int k = 0; k < 12; ++k) workload.tables.push_back(make_table(100 + k, 64));
  const Cluster cluster = make_cluster(4, kMuch);
  TableEvaluator evaluator = random_evaluator(rng, workload, 4);
  const double full =
      cost_of(shard_neuroshard({workload, cluster}, evaluator, {})->plan, evaluator);
  CancelToken token;
  CancelAtLevel sink(1, token);
  SearchOptions options;
  options.cancel = &token;
  options.progress = &sink;
  const auto stopped = shard_neuroshard({workload, cluster}, evaluator, options);
  BOOST_REQUIRE(stopped.ok());
  BOOST_TEST(stopped->stopped_early);
  BOOST_TEST(validate(workload, stopped->plan).ok());
  BOOST_TEST(cost_of(stopped->plan, evaluator) >= full);
  const auto refused = shard_neuroshard({workload, cluster}, evaluator, options);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.status().code() == StatusCode::kCancelled));
}

BOOST_AUTO_TEST_CASE(a_time_limit_still_gives_a_plan) {
  Workload workload;
  for (int k = 0; k < 40; ++k) workload.tables.push_back(make_table(100 + k, 64));
  TableEvaluator evaluator(workload, 4, std::vector<float>(40, 1.0f));
  SearchOptions options;
  options.time_limit_s = 1e-9;
  const auto found = shard_neuroshard({workload, make_cluster(4, kMuch)}, evaluator, options);
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(found->stopped_early);
  BOOST_TEST(validate(workload, found->plan).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
