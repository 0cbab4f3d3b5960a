// Plans as HugeCTR runs them: its lists, rows by key modulo, and the way there and back.
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/rng.h"
#include "tests/io/exported_plans.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(hugectr_export)

namespace {

using test::check_refused;
using test::document_of;
using test::every_kind_of_shard;
using test::random_plan;
using test::read_back;
using test::refused;
using test::Split;
using test::three_tables;
using test::value_of;
using test::written;

/// Shards without the column blocks' order: what HugeCTR's lists keep of a plan.
std::vector<Shard> block_places(Plan plan, const Workload& workload) {
  for (Shard& shard : plan.shards) {
    if (shard.dim() == workload.tables[static_cast<std::size_t>(shard.table)].dim) continue;
    shard.column_end -= shard.column_begin;
    shard.column_begin = 0;
  }
  canonicalize(plan);
  return plan.shards;
}

BOOST_AUTO_TEST_CASE(hugectr_plans_are_its_two_lists) {
  const PlanDocument plan = document_of(3, {{0, 0, 10, 0, 8, 1},
                                            {1, 0, 6, 0, 4, kEveryDevice},
                                            {2, 0, 12, 0, 8, 2},
                                            {2, 0, 12, 8, 16, 0}});
  BOOST_TEST(written("hugectr", plan) == R"({
  "shard_matrix": [
    ["ad", "item"],
    ["user", "ad"],
    ["ad", "item"]
  ],
  "shard_strategy": [
    ["mp", ["user", ["item", 2]]],
    ["dp", ["ad"]]
  ],
  "comm_strategy": "Uniform"
}
)");
  PlanExportOptions hosts;
  hosts.devices_per_host = 1;
  BOOST_TEST(written("hugectr-python", plan, hosts) == R"(shard_matrix = [
    ["ad", "item"],
    ["user", "ad"],
    ["ad", "item"],
]
shard_strategy = [
    ("mp", ["user", ("item", 2)]),
    ("dp", ["ad"]),
]
comm_strategy = "Hierarchical"
)");
}

BOOST_AUTO_TEST_CASE(hugectr_blocks_that_follow_one_another_are_one) {
  const PlanDocument apart = document_of(3, {{0, 0, 10, 0, 4, 1},
                                             {0, 0, 10, 4, 8, 1},
                                             {1, 0, 6, 0, 4, 0},
                                             {2, 0, 12, 0, 4, 2},
                                             {2, 0, 12, 4, 8, 2},
                                             {2, 0, 12, 8, 16, 0}});
  const PlanDocument together = document_of(
      3, {{0, 0, 10, 0, 8, 1}, {1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 8, 2}, {2, 0, 12, 8, 16, 0}});
  BOOST_TEST(written("hugectr", apart) == written("hugectr", together));
  BOOST_TEST((plan_as_written("hugectr-python", apart.plan) == together.plan));
  BOOST_TEST((plan_as_written("torchrec", apart.plan) == apart.plan));
}

BOOST_AUTO_TEST_CASE(hugectr_deals_rows_of_plans_out_by_key_modulo) {
  // 10 rows on 4 GPUs: keys 0, 4, 8; 1, 5, 9; 2, 6; 3, 7. 12 rows in a grid of 2 x 2.
  const PlanDocument plan = document_of(5, {{0, 0, 3, 0, 8, 0},
                                            {0, 3, 6, 0, 8, 1},
                                            {0, 6, 8, 0, 8, 2},
                                            {0, 8, 10, 0, 8, 4},
                                            {1, 0, 6, 0, 4, 3},
                                            {2, 0, 6, 8, 16, 0},
                                            {2, 6, 12, 8, 16, 2},
                                            {2, 0, 6, 0, 8, 3},
                                            {2, 6, 12, 0, 8, 4}});
  BOOST_TEST(written("hugectr-python", plan) == R"(shard_matrix = [
    ["user", "item"],
    ["user"],
    ["user", "item"],
    ["ad", "item"],
    ["user", "item"],
]
shard_strategy = [
    ("mp", ["user", "ad", ("item", 2)]),
]
comm_strategy = "Uniform"
)");
  BOOST_TEST(
      rows_as_run("hugectr", three_tables(), plan.plan) ==
      "HugeCTR deals the rows of table 0 'user' and 1 more out by key modulo, not in contiguous "
      "blocks: that costs the same where ids are shuffled");
  BOOST_TEST(rows_as_run("hugectr", three_tables(), every_kind_of_shard().plan).empty());
  BOOST_TEST(rows_as_run("torchrec", three_tables(), plan.plan).empty());
  BOOST_TEST(rows_as_run("onnx", three_tables(), plan.plan).empty());
}

BOOST_AUTO_TEST_CASE(hugectr_has_no_other_rows_than_those_of_a_modulo) {
  const auto with_user = [](std::vector<Shard> user) {
    user.push_back({1, 0, 6, 0, 4, 0});
    user.push_back({2, 0, 12, 0, 16, 0});
    return refused("hugectr", document_of(4, std::move(user)));
  };
  // TorchRec's blocks of 10 rows for 4 devices.
  check_refused(
      with_user({{0, 0, 3, 0, 8, 0}, {0, 3, 6, 0, 8, 1}, {0, 6, 9, 0, 8, 2}, {0, 9, 10, 0, 8, 3}}),
      {"table 0 'user': rows [6, 9) x columns [0, 8) on device 2, HugeCTR deals rows out by key "
       "modulo, in the order of the devices, and would have rows [6, 8) x columns [0, 8) there"});
  // The right sizes in another order, and the right blocks on other devices.
  check_refused(with_user({{0, 0, 3, 0, 8, 0}, {0, 3, 6, 0, 8, 1}, {0, 6, 10, 0, 8, 2}}),
                {"rows [0, 3)", "would have rows [0, 4)"});
  check_refused(with_user({{0, 0, 5, 0, 8, 3}, {0, 5, 10, 0, 8, 1}}),
                {"rows [5, 10) x columns [0, 8) on device 1", "would have rows [0, 5)"});
  // Devices between those that share columns, and columns that fewer devices share.
  check_refused(
      with_user({{0, 0, 5, 0, 4, 0}, {0, 5, 10, 0, 4, 3}, {0, 0, 5, 4, 8, 2}, {0, 5, 10, 4, 8, 1}}),
      {"rows [5, 10) x columns [4, 8) on device 1", "would have rows [5, 10) x columns [0, 4)"});
  check_refused(with_user({{0, 0, 5, 0, 4, 0}, {0, 5, 10, 0, 4, 1}, {0, 0, 10, 4, 8, 2}}),
                {"3 blocks in 2 column blocks", "as many GPUs", "key modulo"});
  check_refused(with_user({{0, 0, 5, 0, 8, 0}, {0, 5, 10, 0, 8, 0}}), {"two blocks on device 0"});
}

BOOST_AUTO_TEST_CASE(hugectr_plans_keep_every_device_and_width) {
  Rng rng(2);
  for (int round = 0; round < 200; ++round) {
    Workload workload;
    const PlanDocument document =
        random_plan(rng, 1 << rng.below(4),
                    {Split::kWhole, Split::kEqualColumns, Split::kEverywhere}, workload);
    const std::string text = value_of(export_plan("hugectr", workload, document, {}));
    const Plan again = read_back(text, workload);
    BOOST_TEST((block_places(again, workload) == block_places(document.plan, workload)), text);
  }
}

BOOST_AUTO_TEST_CASE(hugectr_plans_with_rows_survive_the_round_trip) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    Workload workload;
    const auto devices = static_cast<std::int32_t>(1 + rng.below(16));
    const PlanDocument document =
        random_plan(rng, devices, {Split::kWhole, Split::kModulo, Split::kEverywhere}, workload);
    const std::string text = value_of(export_plan("hugectr", workload, document, {}));
    BOOST_TEST((read_back(text, workload) == document.plan), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
