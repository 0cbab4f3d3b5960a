// Plans whose tables are in blocks of columns of one width, as HugeCTR has them.
#include "search/equal_columns.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/memory_limits.h"
#include "engine/planner/planner.h"
#include "io/plans/plan_tables.h"
#include "search/local/load_placer.h"
#include "search/local/plan_pieces.h"
#include "tests/support/offload_example.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(equal_columns)

namespace {

using Counts = std::vector<std::int32_t>;

constexpr int kEvaluations = test::unless_sanitized(20'000, 4000);  ///< of every plan here

Table table_of(std::int32_t dim) {
  Table table;
  table.name = "t";
  table.rows = 1000;
  table.dim = dim;
  table.pooling_factor = 2;
  table.reuse_histogram[0] = 1;
  return table;
}

Result<PlanResult> planned(const Workload& workload, const Cluster& cluster, bool equal,
                           int threads = 1, std::string_view model = "torchrec") {
  PlanOptions options;
  options.evaluations = kEvaluations;
  options.threads = threads;
  options.row_splits = RowSplits::kOff;
  options.trainer.equal_columns = equal;
  return make_plan(workload, cluster, load_cost_models(std::string(model))->models, options);
}

/// That every table has one width and no two of its blocks are on a device.
void check_equal(const Workload& workload, const Plan& plan) {
  BOOST_TEST(validate(workload, plan).message() == "");
  BOOST_TEST(io::check_plan_sharding(workload, plan).message() == "");
  std::vector<std::set<std::int32_t>> widths(workload.tables.size());
  std::set<std::pair<std::int32_t, std::int32_t>> places;
  for (const Shard& shard : plan.shards) {
    widths[static_cast<std::size_t>(shard.table)].insert(shard.dim());
    BOOST_TEST(places.insert({shard.table, shard.device}).second);
  }
  for (const auto& own : widths) BOOST_TEST(own.size() == 1U);
}

/// Memory for a fifth more than the tables have, on each device the same.
Cluster small_cluster(const Workload& workload, std::int32_t devices) {
  std::int64_t bytes = 0;
  for (const Table& table : workload.tables) bytes += table_bytes(table);
  return {devices, 6 * bytes / 5 / devices};
}

}  // namespace

BOOST_AUTO_TEST_CASE(tables_may_be_in_as_many_blocks_as_divide_them_and_have_devices) {
  Table table = table_of(96);
  const auto parts = [&](std::int32_t devices) {
    return search::equal_parts(search::space_of(table), devices);
  };
  BOOST_TEST((parts(8) == Counts{1, 2, 3, 4, 6, 8}));
  BOOST_TEST((parts(1) == Counts{1}));
  BOOST_TEST((parts(3) == Counts{1, 2, 3}));
  table.sharding.min_columns = 32;
  BOOST_TEST((parts(8) == Counts{1, 2, 3}));
  table.sharding.whole = false;
  BOOST_TEST((parts(8) == Counts{2, 3}));
  table.sharding.columns = false;
  BOOST_TEST(parts(8).empty());
  table = table_of(96);
  table.pooled = false;
  BOOST_TEST((parts(8) == Counts{1, 2}));
  table = table_of(6);
  BOOST_TEST((parts(8) == Counts{1}));
}

BOOST_AUTO_TEST_CASE(spaces_have_as_many_blocks_as_tables_have_devices) {
  Workload workload;
  workload.tables = {table_of(96), table_of(96), table_of(20), table_of(20)};
  workload.tables[1].devices = DeviceSet({1, 4, 6});
  for (const std::size_t table : {2, 3}) {  // 20 columns are 12 and 8
    workload.tables[table].sharding.whole = workload.tables[table].sharding.data_parallel = false;
    workload.tables[table].sharding.min_columns = 8;
  }
  workload.tables[3].sharding.rows = false;
  const search::SearchSpace space =
      search::with_equal_blocks(search::space_of(workload), 8, {.blocks = 8});
  const auto most = [&](std::int32_t table) { return space.of(table).most_blocks; };
  BOOST_TEST(most(0) == 8);
  BOOST_TEST(most(1) == 3);
  BOOST_TEST(most(2) == 8);
  BOOST_TEST(most(3) == 0);
  BOOST_TEST(search::has_equal_blocks(space));
  BOOST_TEST(!search::has_equal_blocks(search::with_any_blocks(space)));
}

BOOST_AUTO_TEST_CASE(blocks_never_meet_and_are_the_whole_table) {
  const CostModels models = load_cost_models("h200_sim")->models;
  Rng rng(1);
  for (int trial = 0; trial < 200; ++trial) {
    Workload workload;
    workload.batch_size = 4096;
    workload.tables = {table_of(96), table_of(24), table_of(32), table_of(32)};
    if (rng.below(2) == 0) workload.tables[1].devices = DeviceSet({0, 2, 3, 7});
    const Cluster cluster{8, std::int64_t{1} << 30};
    const auto evaluator = make_evaluator(models, workload, 8, 0, {});
    BOOST_REQUIRE(evaluator.ok());
    const search::Problem problem(workload, cluster,
                                  search::with_equal_blocks(search::space_of(workload), 8, {}));
    const search::ShapeCatalog catalog(problem.space, **evaluator);
    std::vector<search::EntryId> pieces;
    std::size_t shards = 0;
    for (std::int32_t table = 0; table < catalog.tables(); ++table) {
      const std::vector<search::EntryId> blocks = catalog.equal_blocks(table);
      const search::EntryId block = blocks[rng.below(blocks.size())];
      pieces.insert(pieces.end(), static_cast<std::size_t>(catalog.blocks_of(block)), block);
      shards = pieces.size();
    }
    search::LoadPlacer placer(problem, **evaluator, catalog);
    BOOST_REQUIRE(placer.place(pieces, {}));
    const Plan plan = search::plan_of(placer.assignment(), workload, catalog, 8);
    check_equal(workload, plan);
    BOOST_TEST(plan.shards.size() == shards);
    BOOST_TEST(search::with_equal_columns(workload, plan).unequal.empty());
  }
}

BOOST_AUTO_TEST_CASE(blocks_on_a_device_count_as_one_wherever_their_columns_are) {
  Workload workload;
  workload.tables = {table_of(16), table_of(12)};
  const Plan crossed{2,
                     {{0, 0, 1000, 0, 4, 0},
                      {0, 0, 1000, 4, 8, 1},
                      {0, 0, 1000, 8, 12, 0},
                      {0, 0, 1000, 12, 16, 1},
                      {1, 0, 1000, 0, 8, 1},
                      {1, 0, 1000, 8, 12, 0}}};
  const search::EqualColumnsPlan equal = search::with_equal_columns(workload, crossed);
  BOOST_TEST((equal.unequal == Counts{1}));
  const Plan laid{2, {{0, 0, 1000, 0, 8, 0}, {0, 0, 1000, 8, 16, 1}}};
  BOOST_TEST((equal.plan == laid));
  // What may not be whole is not.
  const Plan whole{2, {{0, 0, 1000, 0, 16, 0}, {1, 0, 1000, 0, 12, 0}}};
  workload.tables[1].sharding.whole = false;
  BOOST_TEST((search::with_equal_columns(workload, whole).unequal == Counts{1}));
}

BOOST_AUTO_TEST_CASE(even_rows_become_those_of_a_modulo_on_the_same_devices) {
  Workload workload;
  workload.tables = {table_of(16), table_of(16), table_of(12)};
  workload.tables[0].rows = workload.tables[1].rows = 10;
  const auto unequal = [&](std::vector<Shard> shards) {
    shards.push_back({1, 0, 10, 0, 16, 0});
    shards.push_back({2, 0, 1000, 0, 12, 0});
    return search::with_equal_columns(workload, {8, std::move(shards)}).unequal;
  };
  // Over four devices, and over two of either host, whose columns are laid out anew.
  const Plan even{8,
                  {{0, 0, 3, 0, 16, 0},
                   {0, 3, 6, 0, 16, 1},
                   {0, 6, 9, 0, 16, 2},
                   {0, 9, 10, 0, 16, 3},
                   {1, 0, 5, 8, 16, 2},
                   {1, 5, 10, 8, 16, 3},
                   {1, 0, 5, 0, 4, 6},
                   {1, 0, 5, 4, 8, 6},
                   {1, 5, 10, 0, 8, 7},
                   {2, 0, 1000, 0, 12, 0}}};
  Plan modulo{8,
              {{0, 0, 3, 0, 16, 0},
               {0, 3, 6, 0, 16, 1},
               {0, 6, 8, 0, 16, 2},
               {0, 8, 10, 0, 16, 3},
               {1, 0, 5, 0, 8, 2},
               {1, 5, 10, 0, 8, 3},
               {1, 0, 5, 8, 16, 6},
               {1, 5, 10, 8, 16, 7},
               {2, 0, 1000, 0, 12, 0}}};
  canonicalize(modulo);
  const search::EqualColumnsPlan equal = search::with_equal_columns(workload, even);
  BOOST_TEST(equal.unequal.empty());
  BOOST_TEST((equal.plan == modulo));
  BOOST_TEST((search::with_equal_columns(workload, modulo).plan == modulo));
  BOOST_TEST((unequal({{0, 0, 5, 0, 16, 3}, {0, 5, 10, 0, 16, 1}}) == Counts{0}));  // order
  BOOST_TEST((unequal({{0, 0, 4, 0, 16, 1}, {0, 4, 10, 0, 16, 3}}) == Counts{0}));  // sizes
  BOOST_TEST((unequal({{0, 0, 5, 0, 16, 1}, {0, 5, 10, 0, 16, 1}}) == Counts{0}));  // one device
  BOOST_TEST(
      (unequal({{0, 0, 5, 0, 8, 1}, {0, 5, 10, 0, 8, 2}, {0, 0, 10, 8, 16, 3}}) == Counts{0}));
}

BOOST_AUTO_TEST_CASE(rows_are_dealt_out_where_that_is_cheaper) {
  // One with most lookups by far, and no columns to cut.
  Workload workload = test::large_tables(20, 5);
  workload.batch_size = 65536;
  Table tall = table_of(4);
  tall.rows = 4'000'003;
  tall.pooling_factor = 500;
  workload.tables.push_back(tall);
  for (const std::string model : {"torchrec", "h200_sim"}) {
    const CostModels models = load_cost_models(model)->models;
    PlanOptions options;
    options.evaluations = test::unless_sanitized(20'000, 4000);
    options.trainer.equal_columns = true;
    const Cluster cluster = small_cluster(workload, 8);
    const Result<PlanResult> dealt = make_plan(workload, cluster, models, options);
    BOOST_REQUIRE_MESSAGE(dealt.ok(), dealt.status().message());
    check_equal(workload, dealt->plan);
    BOOST_TEST((search::with_equal_columns(workload, dealt->plan).plan == dealt->plan));
    BOOST_TEST(check_memory(workload, dealt->plan, cluster.memory_bytes).message() == "");
    BOOST_TEST(simulate(workload, dealt->plan, models)->cost_ms == dealt->cost.cost_ms);
    options.row_splits = RowSplits::kOff;
    const Result<PlanResult> whole = make_plan(workload, cluster, models, options);
    BOOST_TEST(dealt->cost.cost_ms < 0.9 * whole->cost.cost_ms, model);
  }
}

BOOST_AUTO_TEST_CASE(plans_are_equal_where_the_best_are_not_and_cost_little_more) {
  double ratios = 0;
  int unequal = 0;
  constexpr int kTrials = test::unless_sanitized(6, 4);
  for (int seed = 0; seed < kTrials; ++seed) {
    const Workload workload = test::large_tables(40, seed);
    const Cluster cluster = small_cluster(workload, 16);
    const Result<PlanResult> any = planned(workload, cluster, false, 1, "h200_sim");
    const Result<PlanResult> equal = planned(workload, cluster, true, 1, "h200_sim");
    BOOST_REQUIRE_MESSAGE(equal.ok(), equal.status().message());
    check_equal(workload, equal->plan);
    BOOST_TEST(check_memory(workload, equal->plan, cluster.memory_bytes).message() == "");
    ratios += equal->cost.cost_ms / any->cost.cost_ms;
    unequal += search::with_equal_columns(workload, any->plan).unequal.empty() ? 0 : 1;
  }
  BOOST_TEST(unequal > 0);
  BOOST_TEST(ratios / kTrials < 1.05);
}

BOOST_AUTO_TEST_CASE(a_first_plan_with_equal_blocks_leaves_no_evaluations_unspent) {
  for (const std::int32_t devices : {4, 8}) {
    Workload workload = test::large_tables(60, devices);
    for (Table& table : workload.tables) table.sharding.columns = false;  // nothing to be unequal
    Cluster cluster = small_cluster(workload, devices);
    cluster.memory_bytes *= 4;
    const auto found = planned(workload, cluster, true);
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    check_equal(workload, found->plan);
    BOOST_TEST(found->evaluations <= kEvaluations);
    BOOST_TEST(found->evaluations >= kEvaluations - kEvaluations / 100 - 100);
  }
}

BOOST_AUTO_TEST_CASE(tables_keep_to_their_devices_and_kinds) {
  Workload workload = test::large_tables(30, 9);
  for (std::size_t k = 1; k < 12; ++k) workload.tables[k].devices = DeviceSet({2, 3, 5});
  for (std::size_t k = 12; k < 20; ++k) workload.tables[k].sharding.whole = false;
  for (std::size_t k = 20; k < 25; ++k) workload.tables[k].sharding.columns = false;
  const Result<PlanResult> found = planned(workload, small_cluster(workload, 6), true);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  check_equal(workload, found->plan);
}

BOOST_AUTO_TEST_CASE(the_papers_search_plans_so_too) {
  const Workload workload = test::large_tables(40, 3);
  const Cluster cluster = small_cluster(workload, 8);
  PlanOptions options;
  options.algorithm = "neuroshard";
  options.trainer.equal_columns = true;
  const Result<PlanResult> paper =
      make_plan(workload, cluster, load_cost_models("h200_sim")->models, options);
  BOOST_REQUIRE_MESSAGE(paper.ok(), paper.status().message());
  check_equal(workload, paper->plan);
}

BOOST_AUTO_TEST_CASE(threads_change_nothing) {
  const Workload workload = test::large_tables(40, 4);
  const Cluster cluster = small_cluster(workload, 8);
  const auto plan = [&](int threads) {
    return planned(workload, cluster, true, threads, "h200_sim")->plan;
  };
  BOOST_TEST((plan(1) == plan(2)));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_equal_is_planned_as_it_can_be) {
  Workload workload;
  workload.tables = {table_of(20), table_of(64)};
  workload.tables[0].sharding.whole = workload.tables[0].sharding.data_parallel = false;
  workload.tables[0].sharding.min_columns = 8;  // 20 columns are 12 and 8
  workload.tables[0].sharding.rows = false;
  PlanOptions options;
  options.trainer.equal_columns = true;
  options.evaluations = 1000;
  const auto planned = [&] {
    const Result<PlanResult> found = make_plan(workload, {4, std::int64_t{1} << 30},
                                               load_cost_models("torchrec")->models, options);
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    return found->plan;
  };
  BOOST_TEST((search::with_equal_columns(workload, planned()).unequal == Counts{0}));
  workload.tables[0].sharding.rows = true;
  BOOST_TEST(search::with_equal_columns(workload, planned()).unequal.empty());
}

BOOST_AUTO_TEST_CASE(thirds_that_fit_where_no_halves_do_are_found) {
  Workload workload;
  workload.batch_size = 4096;
  workload.tables = {table_of(96)};
  workload.tables[0].rows = 4000;
  workload.tables[0].sharding.min_columns = 8;
  // Thirds have 512,000 bytes; halves and quarters together leave one device 576,000.
  const Cluster cluster{3, 550'000};
  const auto found = planned(workload, cluster, true);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  check_equal(workload, found->plan);
  BOOST_TEST(found->plan.shards.size() == 3U);
  BOOST_TEST(!planned(workload, {3, 500'000}, true).ok());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
