// Plans keep to what a trainer can run, whatever the other options say.
#include "engine/core/trainer_rules.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"

namespace {

using namespace neuroshard;

/// Two tables that are cheapest in row shards.
Workload two_tables() {
  Workload workload;
  workload.batch_size = 4096;
  for (const char* name : {"a", "b"}) {
    Table table;
    table.name = name;
    table.rows = 1'000'000;
    table.dim = 64;
    table.pooling_factor = 40;
    workload.tables.push_back(table);
  }
  return workload;
}

bool has_row_shards(const Workload& workload, const Plan& plan) {
  for (const Shard& shard : plan.shards) {
    if (shard.rows() != workload.tables[static_cast<std::size_t>(shard.table)].rows) return true;
  }
  return false;
}

Result<PlanResult> planned(const Workload& workload, Cluster cluster, const TrainerRules& rules,
                           std::int64_t host_memory = 0) {
  PlanOptions options;
  options.evaluations = 500;
  options.row_splits = RowSplits::kAny;
  options.trainer = rules;
  cluster.host_memory_bytes = host_memory;
  return make_plan(workload, cluster, load_cost_models("torchrec")->models, options);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trainer_rules)

BOOST_AUTO_TEST_CASE(no_rows_are_split_for_a_trainer_without_row_shards) {
  const Workload workload = two_tables();
  const Cluster cluster{.devices = 8, .memory_bytes = 1'000'000'000};
  const Result<PlanResult> any = planned(workload, cluster, {});
  BOOST_TEST_REQUIRE(any.ok());
  BOOST_TEST(has_row_shards(workload, any->plan));
  const Result<PlanResult> none = planned(workload, cluster, {.row_splits = RowSplits::kOff});
  BOOST_TEST_REQUIRE(none.ok());
  BOOST_TEST(!has_row_shards(workload, none->plan));
}

BOOST_AUTO_TEST_CASE(nothing_goes_to_host_memory_for_a_trainer_that_has_nothing_there) {
  const Workload workload = two_tables();
  const Cluster cluster{.devices = 2, .memory_bytes = 100'000'000};
  const std::int64_t host = 10'000'000'000;
  BOOST_TEST(planned(workload, cluster, {}, host).ok());
  const Result<PlanResult> none = planned(workload, cluster, {.host_memory = false}, host);
  BOOST_TEST((none.status().code() == StatusCode::kInfeasible));
}

BOOST_AUTO_TEST_CASE(only_whole_tables_move_where_columns_have_no_names_or_sequences_are_alike) {
  Workload workload = two_tables();
  BOOST_TEST(!only_whole_tables_move({}, workload));
  BOOST_TEST(only_whole_tables_move({.names_columns = false}, workload));
  BOOST_TEST(!only_whole_tables_move({.cuts_sequences_freely = false}, workload));
  workload.tables[1].pooled = false;
  BOOST_TEST(only_whole_tables_move({.cuts_sequences_freely = false}, workload));
  BOOST_TEST(!only_whole_tables_move({}, workload));
}

BOOST_AUTO_TEST_SUITE_END()
