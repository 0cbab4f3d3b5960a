#include "io/formats/plan_export.h"

#include <boost/test/unit_test.hpp>

#include "engine/core/hot_rows.h"
#include "engine/core/rng.h"
#include "io/plans/plan_import.h"
#include "plans.h"
#include "support.h"
#include "tests/support/kernels.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(plan_export)

namespace {

using test::check_refused;
using test::document_of;
using test::random_plan;
using test::Split;
using test::three_tables;
using test::value_of;

/// user whole on 1, ad on every device, item in columns 0..4 on 2, 4..12 on 0 and 12..16 on 2.
PlanDocument example() {
  return document_of(4, {{0, 0, 10, 0, 8, 1},
                         {1, 0, 6, 0, 4, kEveryDevice},
                         {2, 0, 12, 0, 4, 2},
                         {2, 0, 12, 4, 12, 0},
                         {2, 0, 12, 12, 16, 2}});
}

std::string written(std::string_view format, const PlanDocument& document,
                    const PlanExportOptions& options = {}) {
  return value_of(export_plan(format, three_tables(), document, options));
}

Status refused(std::string_view format, const PlanDocument& document,
               const PlanExportOptions& options = {}) {
  return export_plan(format, three_tables(), document, options).status();
}

Plan read_back(const std::string& text, const Workload& workload) {
  BoundPlan bound = value_of(bind_plan(value_of(parse_plan_input(text, "f")), workload, 0));
  canonicalize(bound.document.plan);
  return std::move(bound.document.plan);
}

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

BOOST_AUTO_TEST_CASE(torchrec_plans_have_the_shape_of_its_serializer) {
  PlanExportOptions options;
  options.module = "model.sparse.ebc";
  options.devices_per_host = 2;
  BOOST_TEST(written("torchrec", example(), options) == R"({
  "plan": {
    "model.sparse.ebc": {
      "user": {
        "sharding_type": "table_wise",
        "compute_kernel": "fused",
        "ranks": [1],
        "shards": [
          {"shard_offsets": [0, 0], "shard_sizes": [10, 8], "placement": "rank:1/cuda:1"}
        ]
      },
      "ad": {
        "sharding_type": "data_parallel",
        "compute_kernel": "dense",
        "ranks": [0, 1, 2, 3]
      },
      "item": {
        "sharding_type": "column_wise",
        "compute_kernel": "fused",
        "ranks": [2, 0, 2],
        "shards": [
          {"shard_offsets": [0, 0], "shard_sizes": [12, 4], "placement": "rank:2/cuda:0"},
          {"shard_offsets": [0, 4], "shard_sizes": [12, 8], "placement": "rank:0/cuda:0"},
          {"shard_offsets": [0, 12], "shard_sizes": [12, 4], "placement": "rank:2/cuda:0"}
        ]
      }
    }
  },
  "neuroshard": {
    "devices": 4,
    "devices_per_host": 2,
    "batch_size": 1024
  }
}
)");
  options.trainer_device = "cpu";
  BOOST_TEST(written("torchrec", example(), options).find("\"rank:2/cpu\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(torchrec_files_say_how_the_plan_was_made) {
  PlanDocument document = example();
  document.provenance.cost_model = "h200";
  document.provenance.input_sha256 = std::string(64, 'a');
  document.provenance.algorithm = "refine";
  document.provenance.seed = 7;
  const PlanInput input = value_of(parse_plan_input(written("torchrec", document), "f"));
  const BoundPlan bound = value_of(bind_plan(input, three_tables(), 0));
  BOOST_TEST((bound.document.provenance == document.provenance));
  BOOST_TEST(bound.document.batch_size == document.batch_size);
}

BOOST_AUTO_TEST_CASE(torchrec_row_types_get_a_shard_for_every_rank) {
  const PlanDocument rows = document_of(4, {{0, 0, 10, 0, 8, 3},
                                            {1, 0, 2, 0, 4, 0},
                                            {1, 2, 4, 0, 4, 1},
                                            {1, 4, 6, 0, 4, 2},
                                            {2, 0, 12, 0, 16, 0}});
  const std::string text = written("torchrec", rows);
  BOOST_TEST(text.find("\"sharding_type\": \"row_wise\"") != std::string::npos);
  BOOST_TEST(text.find(R"({"shard_offsets": [6, 0], "shard_sizes": [0, 4], "placement": )"
                       R"("rank:3/cuda:3"})") != std::string::npos,
             text);
  BOOST_TEST((read_back(text, three_tables()) == rows.plan));
  PlanExportOptions cpu;
  cpu.trainer_device = "cpu";
  check_refused(refused("torchrec", rows, cpu), {"table 1 'ad'", "a rank without rows"});

  const PlanDocument host = document_of(
      4, {{0, 0, 10, 0, 8, 3}, {1, 0, 6, 0, 4, 0}, {2, 0, 6, 0, 16, 2}, {2, 6, 12, 0, 16, 3}});
  PlanExportOptions two_hosts;
  two_hosts.devices_per_host = 2;
  const std::string one_host = written("torchrec", host, two_hosts);
  BOOST_TEST(one_host.find("\"sharding_type\": \"table_row_wise\"") != std::string::npos);
  BOOST_TEST((read_back(one_host, three_tables()) == host.plan));
  check_refused(refused("torchrec", host), {"table 2 'item'", "row_wise", "2 other row blocks"});

  const PlanDocument grid = document_of(4, {{0, 0, 10, 0, 8, 3},
                                            {1, 0, 6, 0, 4, 0},
                                            {2, 0, 6, 0, 4, 2},
                                            {2, 6, 12, 0, 4, 3},
                                            {2, 0, 6, 4, 16, 0},
                                            {2, 6, 12, 4, 16, 1}});
  const std::string blocks = written("torchrec", grid, two_hosts);
  BOOST_TEST(blocks.find("\"sharding_type\": \"grid_shard\"") != std::string::npos);
  BOOST_TEST((read_back(blocks, three_tables()) == grid.plan));
  check_refused(refused("torchrec", grid), {"table 2 'item'", "grid_shard"});
}

BOOST_AUTO_TEST_CASE(torchrec_has_fewer_types_of_what_is_not_pooled) {
  Workload workload = three_tables();
  for (Table& table : workload.tables) table.pooled = false;
  const auto exported = [&](const PlanDocument& document, const PlanExportOptions& options) {
    return export_plan("torchrec", workload, document, options).status().message();
  };
  const PlanDocument host = document_of(
      4, {{0, 0, 10, 0, 8, 3}, {1, 0, 6, 0, 4, 0}, {2, 0, 6, 0, 16, 2}, {2, 6, 12, 0, 16, 3}});
  BOOST_TEST(exported(host, {.devices_per_host = 2}) ==
             "table 2 'item': its lookups are not pooled, TorchRec has no table_row_wise of "
             "EmbeddingCollections");
  const PlanDocument replica = document_of(2, {{0, 0, 10, 0, 8, kEveryDevice},
                                               {1, 0, 6, 0, 4, 0},
                                               {2, 0, 6, 0, 16, 0},
                                               {2, 6, 12, 0, 16, 1}});
  BOOST_TEST(exported(replica, {}) == "");
  BOOST_TEST(exported(replica, {.trainer_device = "cpu"}) ==
             "table 0 'user': is data_parallel and its lookups are not pooled, TorchRec fails on "
             "that on CPU");
  PlanDocument columns = document_of(2, {{0, 0, 10, 0, 4, 0},
                                         {0, 0, 10, 4, 8, 1},
                                         {1, 0, 6, 0, 4, 0},
                                         {2, 0, 12, 0, 8, 0},
                                         {2, 0, 12, 8, 16, 1}});
  BOOST_TEST(exported(columns, {}) ==
             "table 2 'item': its lookups are not pooled, and shards of its module have 4 and 8 "
             "columns, TorchRec takes those of an EmbeddingCollection for equally wide");
  BOOST_TEST(exported(columns, {.table_modules = {"a", "a", "b"}}) == "");
}

BOOST_AUTO_TEST_CASE(trainers_run_hot_rows_where_they_have_a_model_for_them) {
  const HotRows hot[] = {{0, 3}, {2, 2}};
  PlanDocument whole =
      document_of(4, {{0, 0, 10, 0, 8, 1}, {1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 16, 2}});
  BOOST_REQUIRE(give_hot_rows(hot, whole.plan).ok());
  check_refused(refused("torchrec", whole), {"table 0: found 3 hot rows"});
  BOOST_TEST(check_runs("torchrec", three_tables(), whole, {}).ok());
  BOOST_TEST(check_runs("torchrec", three_tables(), whole, {.module = "ebc"}).ok());
  check_refused(check_runs("hugectr", three_tables(), whole, {}), {"table 0: found 3 hot rows"});
  BOOST_TEST(target_rules("torchrec", {}).hot_rows);
  BOOST_TEST(!target_rules("torchrec", {}).hot_bags);
  BOOST_TEST(!target_rules("hugectr", {}).hot_rows);
  // With hot rows a table is looked up as a sequence, whose columns are in equal parts.
  PlanDocument parts = document_of(
      4, {{0, 0, 10, 0, 8, 1}, {1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 4, 2}, {2, 0, 12, 4, 16, 3}});
  BOOST_TEST(check_runs("torchrec", three_tables(), parts, {}).ok());
  BOOST_REQUIRE(give_hot_rows(hot, parts.plan).ok());
  check_refused(check_runs("torchrec", three_tables(), parts, {}), {"equally wide"});
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
  BOOST_TEST(rows_as_run("hugectr", three_tables(), example().plan).empty());
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

BOOST_AUTO_TEST_CASE(csv_has_a_line_a_shard_and_quotes_names) {
  Workload workload = three_tables();
  workload.tables[0].name = "a \"b\", c";
  BOOST_TEST(value_of(export_plan("csv", workload, example(), {})) ==
             "table,name,row_begin,row_end,column_begin,column_end,device,bytes\n"
             "0,\"a \"\"b\"\", c\",0,10,0,8,1,320\n"
             "1,ad,0,6,0,4,all,96\n"
             "2,item,0,12,0,4,2,192\n"
             "2,item,0,12,4,12,0,384\n"
             "2,item,0,12,12,16,2,192\n");
}

BOOST_AUTO_TEST_CASE(csv_says_which_tables_are_in_host_memory_where_any_is) {
  PlanDocument document = example();
  test::set_offloaded(document.plan, {{0, {ComputeKernel::kFusedUvm, 0}},
                                      {2, {ComputeKernel::kFusedUvmCaching, 0.3}}});
  Workload workload = three_tables();
  workload.tables[0].optimizer = Optimizer::kRowwiseAdagrad;  // 4 bytes a row, on the device
  // Of 12 rows 4 are in the cache, 3.6 rounded up, each with 16 bytes beside it.
  BOOST_TEST(value_of(export_plan("csv", workload, document, {})) ==
             "table,name,row_begin,row_end,column_begin,column_end,device,bytes,compute_kernel,"
             "cache_load_factor,host_bytes\n"
             "0,user,0,10,0,8,1,40,fused_uvm,,320\n"
             "1,ad,0,6,0,4,all,96,,,0\n"
             "2,item,0,12,0,4,2,176,fused_uvm_caching,0.3,192\n"
             "2,item,0,12,4,12,0,240,fused_uvm_caching,0.3,384\n"
             "2,item,0,12,12,16,2,176,fused_uvm_caching,0.3,192\n");
  test::set_offloaded(document.plan, {{0, {ComputeKernel::kFusedUvm, 0}}});
  document.plan.shards[1].device = 3;
  BOOST_TEST(
      value_of(export_plan("csv", workload, document, {})).find("1,ad,0,6,0,4,3,96,fused,,0\n") !=
      std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_a_format_cannot_express_is_refused_with_the_reason) {
  const auto with_item = [](std::vector<Shard> item) {
    item.push_back({0, 0, 10, 0, 8, 0});
    item.push_back({1, 0, 6, 0, 4, 0});
    return document_of(4, std::move(item));
  };
  const PlanDocument odd = with_item({{2, 0, 12, 0, 6, 0}, {2, 0, 12, 6, 16, 1}});
  check_refused(refused("torchrec", odd), {"table 2 'item'", "6 columns", "multiple of 4"});
  check_refused(refused("hugectr", odd), {"table 2 'item'", "6 and 10 columns", "equal width"});
  const PlanDocument twice = with_item(
      {{2, 0, 12, 0, 4, 3}, {2, 0, 12, 4, 8, 0}, {2, 0, 12, 8, 12, 3}, {2, 0, 12, 12, 16, 1}});
  check_refused(refused("hugectr", twice), {"table 2 'item'", "two blocks on device 3"});
  const PlanDocument rows = with_item({{2, 0, 6, 0, 16, 1}, {2, 6, 12, 0, 16, 0}});
  check_refused(refused("torchrec", rows), {"table 2 'item'", "in device order"});
  for (const std::int64_t cut : {1, 2, 4, 11}) {  // of 4 ranks, each has ceil(12 / 4) = 3
    const PlanDocument uneven = with_item({{2, 0, cut, 0, 16, 0}, {2, cut, 12, 0, 16, 1}});
    check_refused(refused("torchrec", uneven), {"table 2 'item'", "ceil(rows / devices)"});
  }
  check_refused(refused("hugectr", rows), {"table 2 'item'", "key modulo"});
  const PlanDocument brick = with_item(
      {{2, 0, 6, 0, 8, 0}, {2, 6, 12, 0, 8, 1}, {2, 0, 4, 8, 16, 2}, {2, 4, 12, 8, 16, 3}});
  check_refused(refused("torchrec", brick), {"table 2 'item'", "grid"});
  check_refused(refused("hugectr", brick),
                {"table 2 'item'", "rows [0, 4) x columns [8, 16) on device 2", "rows [0, 6)"});
  check_refused(refused("html", brick), {"no costs"});
}

BOOST_AUTO_TEST_CASE(bad_requests_are_refused) {
  check_refused(refused("onnx", example()), {"plan format: found 'onnx'", "json, torchrec"});
  PlanExportOptions options;
  options.devices_per_host = 3;
  check_refused(refused("torchrec", example(), options), {"devices per host: found 3"});
  options = {};
  options.trainer_device = "tpu";
  check_refused(refused("torchrec", example(), options), {"found 'tpu'", "cuda or cpu"});
  options = {};
  options.memory_limit = -1;
  check_refused(refused("html", example(), options), {"memory limit: found -1"});
  for (const std::string module : {"a..b", "a b", ".a", "a.", ".", "a\tb", "a\n"}) {
    options = {};
    options.module = module;
    check_refused(refused("torchrec", example(), options), {"module: found '", "dotted name"});
  }
  PlanDocument hole = example();
  hole.plan.shards.pop_back();
  for (const PlanFormat& format : plan_formats()) {
    check_refused(refused(format.name, hole), {"table 2"});
  }
  Workload twins = three_tables();
  twins.tables[1].name = "user";
  check_refused(export_plan("torchrec", twins, example(), {}).status(), {"both called 'user'"});
  check_refused(export_plan("hugectr", twins, example(), {}).status(), {"both called 'user'"});
}

BOOST_AUTO_TEST_CASE(torchrec_and_native_plans_survive_the_round_trip) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    Workload workload;
    const auto devices = static_cast<std::int32_t>(1 + rng.below(9));
    const PlanDocument document = random_plan(
        rng, devices, {Split::kWhole, Split::kEqualColumns, Split::kColumns, Split::kEverywhere},
        workload);
    for (const std::string_view format : {"json", "torchrec"}) {
      const std::string text = value_of(export_plan(format, workload, document, {}));
      BOOST_TEST((read_back(text, workload) == plan_as_written(format, document.plan)), text);
      BOOST_TEST(value_of(export_plan(format, workload, document, {})) == text);
    }
  }
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

BOOST_AUTO_TEST_CASE(what_no_plan_could_change_is_known_before_there_is_one) {
  Workload workload = test::three_tables();
  for (const PlanFormat& format : plan_formats()) {
    BOOST_TEST(check_exportable(format.name, workload, 4, {}).ok(), format.name);
  }
  workload.tables[1].dim = 6;
  check_refused(check_exportable("torchrec", workload, 4, {}), {"table 1 'ad': ", "6 columns"});
  BOOST_TEST(check_exportable("hugectr", workload, 4, {}).ok());
  workload.tables[1].name = "user";
  check_refused(check_exportable("hugectr", workload, 4, {}), {"'user'"});
  check_refused(check_exportable("csw", workload, 4, {}), {"plan format: found 'csw'"});
  PlanExportOptions uneven;
  uneven.devices_per_host = 3;
  check_refused(check_exportable("csv", workload, 4, uneven), {"devices per host: found 3"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
