// What is told of a plan's tables, held against the costs of whole plans.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/rng.h"
#include "engine/core/row_blocks.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/explain/explain_plan.h"
#include "engine/planner/planner.h"
#include "io/plans/plan_tables.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(explain)

namespace {

constexpr std::int32_t kDevices = 4;

Workload random_tables(Rng& rng, int count) {
  Workload workload;
  for (int index = 0; index < count; ++index) {
    Table table;
    table.name = "t" + std::to_string(index);
    table.rows = rng.between(2, 200'000);
    table.dim = static_cast<std::int32_t>(4 * rng.between(1, 48));
    table.pooling_factor = static_cast<double>(rng.between(1, 40));
    table.reuse_histogram[0] = 1;
    table.sharding.columns = rng.below(4) > 0;
    table.sharding.rows = rng.below(4) > 0;
    table.sharding.data_parallel = rng.below(2) == 0;
    if (rng.below(5) == 0) table.devices = DeviceSet({0, 2});
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

struct Case {
  Workload workload;
  CostModels models;
  Plan plan;
  std::int64_t memory = 0;
};

Case random_case(Rng& rng, const std::string& model, const std::string& algorithm, int count = 9) {
  Case one{random_tables(rng, count), load_cost_models(model)->models, {}, 0};
  one.memory = workload_bytes(one.workload) * 3 / kDevices;
  PlanOptions options;
  options.algorithm = algorithm;
  options.evaluations = 500;
  options.data_parallel = true;
  auto found = make_plan(one.workload, {kDevices, one.memory}, one.models, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  one.plan = std::move(found->plan);
  return one;
}

std::vector<TableExplanation> explained(const Case& one, const ExplainOptions& options = {}) {
  auto tables = explain_plan(one.workload, one.plan, one.models, one.memory, options);
  BOOST_REQUIRE_MESSAGE(tables.ok(), tables.status().message());
  return std::move(tables).value();
}

/// The plan with that table in another layout.
Plan changed(const Plan& plan, std::int32_t table, const TableLayout& layout) {
  Plan other = plan;
  std::erase_if(other.shards, [&](const Shard& shard) { return shard.table == table; });
  other.shards.insert(other.shards.end(), layout.begin(), layout.end());
  return other;
}

double cost_of_plan(const Case& one, const Plan& plan) {
  const auto cost = simulate(one.workload, plan, one.models);
  BOOST_REQUIRE_MESSAGE(cost.ok(), cost.status().message());
  return cost->cost_ms;
}

bool fits(const Case& one, const Plan& plan) {
  const auto bytes = device_bytes(one.workload, plan);
  return *std::max_element(bytes.begin(), bytes.end()) <= one.memory;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_next_best_is_a_plan_that_costs_what_is_said_and_no_move_costs_less) {
  Rng rng(1);
  std::set<bool> cheaper;
  for (const std::string model : {"h200_sim", "torchrec"}) {
    for (const std::string algorithm : {"random", "neuroshard", "refine"}) {
      const Case one = random_case(rng, model, algorithm);
      const double now = cost_of_plan(one, one.plan);
      for (const TableExplanation& own : explained(one)) {
        if (!own.next_best) continue;
        const Plan next = changed(one.plan, own.table, own.next_best->shards);
        BOOST_TEST(validate(one.workload, next).message() == "");
        BOOST_TEST(io::check_plan_sharding(one.workload, next).message() == "");
        BOOST_TEST(fits(one, next));
        BOOST_TEST(std::abs(cost_of_plan(one, next) - own.next_best->cost_ms) < 1e-5);
        cheaper.insert(own.next_best->cost_ms < now);
        // Whole on some device is always among what was tried.
        const Table& table = one.workload.tables[static_cast<std::size_t>(own.table)];
        for (std::int32_t device = 0; device < kDevices; ++device) {
          const Shard whole = whole_table(one.workload, own.table, device);
          const Plan moved = changed(one.plan, own.table, {whole});
          if (own.shards == TableLayout{whole} || !table.devices.has(device)) continue;
          if (!fits(one, moved)) continue;
          BOOST_TEST(own.next_best->cost_ms <= cost_of_plan(one, moved) + 1e-5);
        }
      }
    }
  }
  BOOST_TEST(cheaper.size() == 2U);  // random plans have cheaper neighbours, searched ones do not
}

BOOST_AUTO_TEST_CASE(what_a_table_adds_is_what_its_device_computes_less_without_it) {
  Rng rng(2);
  const Case one = random_case(rng, "h200_sim", "size-greedy");
  const auto with = simulate(one.workload, one.plan, one.models);
  for (const TableExplanation& own : explained(one)) {
    Workload fewer = one.workload;
    fewer.tables.erase(fewer.tables.begin() + own.table);
    Plan rest = changed(one.plan, own.table, {});
    for (Shard& shard : rest.shards) shard.table -= shard.table > own.table ? 1 : 0;
    const auto without = simulate(fewer, rest, one.models);
    BOOST_REQUIRE(without.ok());
    const auto device = static_cast<std::size_t>(own.shards.front().device);
    const double less =
        with->per_device[device].compute_ms - without->per_device[device].compute_ms;
    BOOST_TEST(std::abs(own.adds_ms - less) < 1e-4);
    BOOST_TEST(own.bytes == table_bytes(one.workload.tables[static_cast<std::size_t>(own.table)]));
  }
}

BOOST_AUTO_TEST_CASE(the_dearest_tables_come_first_or_those_that_were_asked_for) {
  Rng rng(3);
  const Case one = random_case(rng, "h200_sim", "neuroshard", 30);
  const auto all = explained(one, {.most = 30});
  BOOST_REQUIRE(all.size() == 30U);
  for (std::size_t k = 1; k < all.size(); ++k) BOOST_TEST(all[k].alone_ms <= all[k - 1].alone_ms);
  BOOST_TEST(explained(one).size() == 20U);
  const auto two = explained(one, {.tables = {7, 3}});
  BOOST_REQUIRE(two.size() == 2U);
  BOOST_TEST(two[0].table == 7);
  BOOST_TEST(two[1].table == 3);
}

/// A table that may be whole or in rows.
Workload one_table(std::int64_t rows) {
  Table table;
  table.rows = rows;
  table.dim = 128;
  table.pooling_factor = 50;
  table.reuse_histogram[0] = 1;
  table.sharding.columns = table.sharding.data_parallel = false;
  Workload workload;
  workload.tables = {table};
  return workload;
}

BOOST_AUTO_TEST_CASE(rows_over_a_host_are_known_where_costs_know_hosts) {
  const Workload workload = one_table(1'000'000);
  const CostModels models = load_cost_models("torchrec")->models;
  const Plan plan{16, {whole_table(workload, 0, 3)}};
  const auto tables = explain_plan(workload, plan, models, std::int64_t{1} << 40, {});
  BOOST_REQUIRE(tables.ok());
  const auto& next = tables->front().next_best;
  BOOST_REQUIRE(next);
  BOOST_TEST(next->shards.size() == 8U);
  BOOST_TEST(next->shards.front().device % 8 == 0);
  BOOST_TEST(tables->front().considered == 15 + 1 + 2);  // whole, over all, over either host
}

BOOST_AUTO_TEST_CASE(rows_by_modulo_are_not_told_to_be_better_dealt_out_evenly) {
  const Workload workload = one_table(1'000'003);
  Plan plan{16, {}};
  for (std::int32_t device = 0; device < 16; ++device) {
    const RowRange rows = modulo_rows(workload.tables[0].rows, 16, device);
    plan.shards.push_back({0, rows.begin, rows.end, 0, 128, device});
  }
  const CostModels models = load_cost_models("torchrec")->models;
  const auto tables = explain_plan(workload, plan, models, std::int64_t{1} << 40, {});
  BOOST_REQUIRE_MESSAGE(tables.ok(), tables.status().message());
  BOOST_TEST(tables->front().considered == 16 + 2);  // whole, over either host
}

BOOST_AUTO_TEST_CASE(tables_that_may_be_on_each_device_may_be_on_all) {
  Workload workload;
  workload.batch_size = 4096;
  Table table;
  table.rows = 1000;
  table.dim = 32;
  table.pooling_factor = 10;
  table.reuse_histogram[0] = 1;
  const CostModels models = load_cost_models("torchrec")->models;
  for (const DeviceSet& devices : {DeviceSet(), DeviceSet({0, 1})}) {
    table.devices = devices;
    workload.tables = {table};
    const Plan plan{2, {whole_table(workload, 0, 0)}};
    const auto told = explain_plan(workload, plan, models, std::int64_t{1} << 40, {});
    BOOST_REQUIRE(told.ok());
    BOOST_TEST(told->front().considered == 4);  // whole, half, rows, on every device
  }
}

BOOST_AUTO_TEST_CASE(no_layout_keeps_what_the_table_does_not_allow) {
  Workload workload;
  Table table;
  table.rows = 1000;
  table.dim = 32;
  table.pooling_factor = 10;
  table.reuse_histogram[0] = 1;
  table.devices = DeviceSet({0});
  workload.tables = {table};
  const Plan plan{3, {{0, 0, 1000, 0, 16, 1}, {0, 0, 1000, 16, 32, 2}}};
  const auto told =
      explain_plan(workload, plan, load_cost_models("torchrec")->models, std::int64_t{1} << 40, {});
  BOOST_REQUIRE(told.ok());
  BOOST_REQUIRE(told->front().next_best);
  BOOST_TEST((told->front().next_best->shards == TableLayout{whole_table(workload, 0, 0)}));
}

BOOST_AUTO_TEST_CASE(hot_rows_save_less_when_others_become_hot) {
  Workload workload;
  for (int k = 0; k < 64; ++k) {
    Table table;
    table.name = "t" + std::to_string(k);
    table.rows = 2'000'000;
    table.dim = 64;
    table.pooling_factor = 1;
    table.reuse_histogram = expected_reuse(table.rows, 65536, 1.05).histogram;
    workload.tables.push_back(std::move(table));
  }
  const CostModels models = load_cost_models("h100_sim")->models;
  Plan plan{64, {}};
  std::vector<HotRows> all;
  const std::vector<HotLevel> levels = hot_levels(workload.tables[0], workload.batch_size);
  for (std::int32_t k = 0; k < 64; ++k) {
    plan.shards.push_back(whole_table(workload, k, k));
    all.push_back({k, levels[levels.size() / 2].rows});
  }
  Plan with = plan;
  BOOST_REQUIRE(give_hot_rows(all, with).ok());
  const HotRows hot = all[3];
  plan = with;
  plan.shards[3].kernel.hot_rows = 0;
  const double without = simulate(workload, plan, models, {.devices = 64}).value().cost_ms;
  const double now = simulate(workload, with, models, {.devices = 64}).value().cost_ms;
  BOOST_TEST(now < without);
  const std::int64_t memory = std::int64_t{1} << 40;
  const auto none = explain_plan(workload, plan, models, memory, {.tables = {3}});
  BOOST_TEST_REQUIRE(none.ok());
  BOOST_TEST(!none->front().hot_rows.has_value());
  const auto told = explain_plan(workload, with, models, memory, {.tables = {3}});
  BOOST_TEST_REQUIRE(told.ok());
  BOOST_TEST_REQUIRE((*told)[0].hot_rows.has_value());
  const HotGain& gain = *(*told)[0].hot_rows;
  BOOST_TEST(gain.rows == hot.rows);
  BOOST_TEST(gain.lookup_share < gain.counted_share);
  BOOST_TEST(gain.saved_ms == without - now);
  double before = gain.saved_ms;
  for (const HotGain::Later& later : gain.later) {
    BOOST_TEST(later.saved_ms <= before);
    before = later.saved_ms;
    Workload moved = workload;
    moved.tables[3] = moved_on(workload.tables[3], later.kept, workload.batch_size);
    const LookupParts parts = lookup_parts(moved.tables[3], hot.rows, workload.batch_size);
    BOOST_TEST(parts.hot_share == later.kept * gain.lookup_share,
               boost::test_tools::tolerance(1e-6));
    BOOST_TEST(later.saved_ms ==
               without - simulate(moved, with, models, {.devices = 64}).value().cost_ms);
  }
}

// Half of the lookups on every device cost more than all of them where the rows are, and none of
// them little.
BOOST_AUTO_TEST_CASE(hot_rows_break_even_where_they_begin_to_cost_more) {
  Workload workload;
  workload.batch_size = 8192;
  for (const auto& [rows, dim, pooling, alpha] :
       {std::tuple{267, 128, 24.03, 0.33}, {1459, 8, 6.56, 0.36}}) {
    Table table;
    table.name = "t" + std::to_string(dim);
    table.rows = rows;
    table.dim = dim;
    table.pooling_factor = pooling;
    table.reuse_histogram = expected_reuse(rows, 8192 * pooling, alpha).histogram;
    workload.tables.push_back(std::move(table));
  }
  Plan plan{4, {}};
  for (const auto& [device, quarter] : {std::pair{1, 0}, {3, 1}, {2, 2}, {1, 3}}) {
    plan.shards.push_back(whole_table(workload, 0, device));
    plan.shards.back().column_begin = 32 * quarter;
    plan.shards.back().column_end = 32 * (quarter + 1);
  }
  plan.shards.push_back(whole_table(workload, 1, 0));
  BOOST_REQUIRE(give_hot_rows(std::vector<HotRows>{{0, 248}, {1, 1437}}, plan).ok());
  const CostModels models = load_cost_models("h100_sim")->models;
  const auto told = explain_plan(workload, plan, models, std::int64_t{1} << 31, {.tables = {0}});
  BOOST_TEST_REQUIRE(told.ok());
  const HotGain& gain = (*told)[0].hot_rows.value();
  const auto saved_with = [&](double kept) {
    Workload moved = workload;
    moved.tables[0] = moved_on(workload.tables[0], kept, workload.batch_size);
    return gain.saved_ms + simulate(workload, plan, models, {.devices = 4}).value().cost_ms -
           simulate(moved, plan, models, {.devices = 4}).value().cost_ms;
  };
  BOOST_TEST_REQUIRE(gain.break_even.has_value());
  const double share = *gain.break_even;
  BOOST_TEST(share > 0.5);
  BOOST_TEST(share < 0.75);
  BOOST_TEST(saved_with(share) >= 0);
  BOOST_TEST(saved_with(share - 0.002) < 0);
  BOOST_TEST(saved_with(0) > 0);  // so that what it costs is no steady rise
}

BOOST_AUTO_TEST_CASE(what_cannot_be_explained_is_refused) {
  Rng rng(4);
  Case one = random_case(rng, "h200_sim", "size-greedy");
  const auto refusal = [&](const ExplainOptions& options) {
    return explain_plan(one.workload, one.plan, one.models, one.memory, options).status();
  };
  BOOST_TEST(refusal({.tables = {9}}).message() == "table: found 9, expected 0 to 8");
  CancelToken cancel;
  cancel.cancel();
  BOOST_TEST((refusal({.cancel = &cancel}).code() == StatusCode::kCancelled));
  one.memory = 1;
  BOOST_TEST((refusal({}).code() == StatusCode::kInfeasible));
  one.plan.shards.pop_back();
  BOOST_TEST((refusal({}).code() == StatusCode::kInvalidInput));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
