// What the linter tells of plans that no trainer would run as they are.
#include "io/formats/plan_lint.h"

#include <boost/test/unit_test.hpp>
#include <initializer_list>

#include "tests/io/trainer_plans.h"
#include "tests/support/kernels.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(plan_lint)

namespace {

using test::changed;
using test::check_refused;
using test::document_of;
using test::faults_of;
using test::kHugeCtr;
using test::kTorchRec;
using test::kTwoModules;
using test::parse_plan;
using test::three_tables;
using test::value_of;

/// Exactly one fault, with all of `parts` in its text.
void check_fault(std::string_view text, const PlanRules& rules,
                 std::initializer_list<std::string_view> parts) {
  const std::vector<PlanFault> faults = faults_of(text, rules);
  BOOST_TEST(faults.size() == 1U, text);
  if (faults.empty()) return;
  for (const std::string_view part : parts) {
    BOOST_TEST(faults[0].text.find(part) != std::string::npos, faults[0].text << " lacks " << part);
  }
}

BOOST_AUTO_TEST_CASE(the_linter_tells_every_fault) {
  const std::string bad = changed(changed(kTorchRec, "\"item\"", "\"items\""), "[10, 8]", "[9, 8]");
  const std::vector<PlanFault> faults = faults_of(bad, {.devices = 2});
  BOOST_REQUIRE(faults.size() == 3U);
  BOOST_TEST(faults[0].text == "table 'items' is not among the tables given");
  BOOST_TEST(faults[1].text.find("table 0 'user': shards cover 72 of its 80") != std::string::npos);
  BOOST_TEST(faults[2].text.find("table 2 'item': shards cover 0 of its 192") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_linter_names_a_shard_by_its_place_in_the_file) {
  const std::string text = R"({"format": "neuroshard-plan", "version": 1, "devices": 2,
    "batch_size": 1024, "shards": [
      {"table": 9, "rows": [0, 10], "columns": [0, 8], "device": 1},
      {"table": 2, "rows": [0, 12], "columns": [0, 16], "device": 0},
      {"table": 1, "rows": [0, 6], "columns": [0, 4], "device": 0},
      {"table": 0, "rows": [0, 10], "columns": [0, 9], "device": 0}]})";
  const std::vector<PlanFault> faults = faults_of(text, {});
  BOOST_REQUIRE(faults.size() == 2U);
  BOOST_TEST(faults[0].text == "shards[0]: table 9, expected 0 to 2");
  BOOST_TEST(faults[1].text.starts_with("shards[3]: "), faults[1].text);
}

BOOST_AUTO_TEST_CASE(tables_of_other_names_are_faults) {
  const std::string text = R"({"format": "neuroshard-plan", "version": 1, "devices": 2,
    "batch_size": 1024, "table_names": ["other", "ad", "item"], "shards": [
      {"table": 0, "rows": [0, 10], "columns": [0, 8], "device": 1},
      {"table": 1, "rows": [0, 6], "columns": [0, 4], "device": 0},
      {"table": 2, "rows": [0, 12], "columns": [0, 17], "device": 0}]})";
  const std::vector<PlanFault> faults = faults_of(text, {});
  BOOST_REQUIRE(faults.size() == 3U);
  BOOST_TEST(faults[0].text == "table 'other' is not among the tables given");
  BOOST_TEST(faults[1].text.starts_with("shards[2]: rows [0, 12) x columns [0, 17)"),
             faults[1].text);
  BOOST_TEST(faults[2].text.find("table 0 'user': shards cover 0 of its 80") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(values_out_of_range_are_faults_and_all_are_told) {
  const std::string text = R"({"format": "neuroshard-plan", "version": 1, "devices": 2,
    "batch_size": 1024, "shards": [
      {"table": 0, "rows": [0, 10], "columns": [0, 8], "device": 5},
      {"table": -1, "rows": [0, 12], "columns": [0, 16], "device": -1},
      {"table": 1, "rows": [-9223372036854775808, 9223372036854775807],
       "columns": [2147483647, -2147483648], "device": 0},
      {"table": 2, "rows": [0, 12], "columns": [0, 8], "device": "all"}]})";
  check_refused(parse_plan(text).status(), {"f: $.shards[0].device: found 5, expected"});
  const PlanInput input = value_of(parse_plan_input(text, "f", PlanUse::kCheck));
  const std::vector<PlanFault> faults = value_of(lint_plan(input, three_tables(), {}));
  BOOST_REQUIRE(faults.size() == 5U);
  BOOST_TEST(faults[0].text == "shards[0]: device 5, expected 0 to 1, or 'all'");
  BOOST_TEST(faults[1].text == "shards[1]: device -1, expected 0 to 1, or 'all'");
  BOOST_TEST(faults[2].text == "shards[1]: table -1, expected 0 to 2");
  BOOST_TEST(faults[3].text.starts_with("shards[2]: rows [-9223372036854775808, "));
  BOOST_TEST(faults[4].text ==
             "shards[3]: rows [0, 12) x columns [0, 8) on all devices, expected the whole table 2 "
             "'item'");
  check_refused(bind_plan(input, three_tables(), 0).status(), {"f: shards[0]: device 5"});
}

BOOST_AUTO_TEST_CASE(the_linter_names_a_trainers_shard_by_module_table_and_place) {
  const std::string far = changed(kTorchRec, "[0, 4], \"shard_sizes\"", "[0, 8], \"shard_sizes\"");
  check_fault(far, {.devices = 2},
              {"table 'item' of module 'other', shards[1]: rows [0, 12) x columns [8, 20)",
               "expected a part of table 2 'item' with 12 rows"});
  check_refused(bind_plan(value_of(parse_plan(far)), three_tables(), 2).status(),
                {"f: table 'item' of module 'other', shards[1]: "});
}

BOOST_AUTO_TEST_CASE(the_linter_knows_torchrecs_rules) {
  const PlanRules two{.devices = 2};
  check_fault(changed(kTorchRec, "\"dense\"", "\"fused\""), two, {"table 1 'ad'", "'dense' with"});
  check_fault(changed(kTorchRec, "\"fused\"", "\"dense\""), two, {"table 0 'user'", "'dense'"});
  check_fault(changed(kTorchRec, "\"ranks\": [0, 1]}", "\"ranks\": [0]}"), two,
              {"table 1 'ad': data_parallel: found ranks [0], expected all 2"});
  check_fault(changed(kTorchRec, "table_wise", "row_wise"), two,
              {"table 0 'user'", "row_wise with 1 shards, expected one for each of 2 ranks"});
  check_fault(changed(kTorchRec, "column_wise", "row_wise"), two,
              {"table 2 'item'", "is called row_wise, its shards make it column_wise"});
  const std::string widths = changed(changed(kTorchRec, "[12, 4]", "[12, 6]"), "[0, 4]", "[0, 6]");
  check_fault(changed(widths, "[12, 12]", "[12, 10]"), two,
              {"table 2 'item'", "6 columns", "multiple of 4"});
  BOOST_TEST(faults_of(changed(kTorchRec, "\"table_wise\"", "\"column_wise\""), two).empty());
}

BOOST_AUTO_TEST_CASE(columns_of_an_embedding_collection_are_equally_wide) {
  Workload sequences = three_tables();
  for (Table& table : sequences.tables) table.pooled = false;
  const auto faults = [&](const std::string& text) {
    return value_of(lint_plan(value_of(parse_plan(text)), sequences, {.devices = 2}));
  };
  const std::string unequal(kTorchRec);  // 4 and 12 columns
  BOOST_REQUIRE(faults(unequal).size() == 1U);
  BOOST_TEST(faults(unequal)[0].text ==
             "table 2 'item': its lookups are not pooled, and shards of its module have 4 and 12 "
             "columns, TorchRec takes those of an EmbeddingCollection for equally wide");
  const std::string equal = changed(
      changed(changed(unequal, "[12, 4]", "[12, 8]"), "[0, 4]", "[0, 8]"), "[12, 12]", "[12, 8]");
  BOOST_TEST(faults(equal).empty());
  // One shard of 16 columns, called column_wise, in another module and in the same.
  sequences.tables[0].dim = 16;
  const std::string wide =
      changed(changed(equal, "table_wise", "column_wise"), "[10, 8]", "[10, 16]");
  BOOST_TEST(faults(wide).empty());
  BOOST_TEST(faults(changed(wide, "}},\n \"other\": {", "},")).size() == 1U);
}

BOOST_AUTO_TEST_CASE(row_wise_shards_are_even_and_stand_in_rank_order) {
  const auto faults = [](std::int64_t cut, int first, int second) {
    const auto shard = [](std::int64_t begin, std::int64_t rows, int rank) {
      return R"({"shard_offsets": [)" + std::to_string(begin) + R"(, 0], "shard_sizes": [)" +
             std::to_string(rows) + R"(, 4], "placement": "rank:)" + std::to_string(rank) +
             R"(/cuda:0"})";
    };
    const std::string text =
        R"({"plan": {"": {"t": {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [)" +
        std::to_string(first) + ", " + std::to_string(second) + R"(], "shards": [)" +
        shard(0, cut, first) + ", " + shard(cut, 7 - cut, second) + "]}}}}";
    const Workload one{{test::table_of("t", 7, 4)}, 64};
    return value_of(lint_plan(value_of(parse_plan(text)), one, {.devices = 2})).size();
  };
  BOOST_TEST(faults(4, 0, 1) == 0U);
  BOOST_TEST(faults(4, 1, 0) == 2U);  // the order, and rows looked up on the other rank
  BOOST_TEST(faults(3, 0, 1) == 1U);
  BOOST_TEST(faults(5, 0, 1) == 1U);
}

BOOST_AUTO_TEST_CASE(placements_on_which_no_trainer_runs_are_faults) {
  const std::string mixed = changed(kTorchRec, "rank:0/cuda:0", "rank:0/cpu");
  check_fault(mixed, {.devices = 2},
              {"found placements on 'cuda' and, of table 'item', on 'cpu', expected"});
  BOOST_TEST(faults_of(mixed, {.devices = 2, .target = "hugectr"}).size() == 1U);  // widths alone
  const std::string far = changed(kTorchRec, "rank:0/cuda:0", "rank:0/cuda:5");
  check_fault(far, {.devices = 2}, {"rank modulo devices per host"});
  BOOST_TEST(faults_of(kTwoModules, {.devices = 4}).empty());
  BOOST_TEST(faults_of(kTwoModules, {.devices = 4, .devices_per_host = 2}).empty());
  check_fault(kTwoModules, {.devices = 4, .devices_per_host = 4},
              {"found rank 2 on cuda:0, expected cuda:2, rank modulo devices per host (4)"});
}

BOOST_AUTO_TEST_CASE(ranks_without_rows_are_a_fault_on_cpus_alone) {
  const std::string plan = R"({"plan": {"": {
    "user": {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [0, 1], "shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [10, 8], "placement": "rank:0/cpu"},
      {"shard_offsets": [10, 0], "shard_sizes": [0, 8], "placement": "rank:1/cpu"}]}}}})";
  const Workload one{{test::table_of("user", 1, 8)}, 64};
  const auto faults = [&](const std::string& text) {
    return value_of(lint_plan(value_of(parse_plan(text)), one, {.devices = 2}));
  };
  const std::string cut = changed(changed(plan, "[10, 8]", "[1, 8]"), "[10, 0]", "[1, 0]");
  BOOST_REQUIRE(faults(cut).size() == 1U);
  BOOST_TEST(faults(cut)[0].text ==
             "table 'user': row_wise leaves a rank without rows, TorchRec fails on that on CPU");
  const std::string gpus =
      changed(changed(cut, "rank:0/cpu", "rank:0/cuda:0"), "rank:1/cpu", "rank:1/cuda:1");
  BOOST_TEST(faults(gpus).empty());
}

BOOST_AUTO_TEST_CASE(sequences_on_every_rank_are_a_fault_on_cpus_alone) {
  Workload sequences = three_tables();
  sequences.tables[1].pooled = false;
  const auto faults = [&](const std::string& text) {
    return value_of(lint_plan(value_of(parse_plan(text)), sequences, {.devices = 2}));
  };
  BOOST_TEST(faults(std::string(kTorchRec)).empty());
  std::string cpus(kTorchRec);
  for (const char* placement : {"1/cuda:1", "0/cuda:0", "1/cuda:1"}) {
    cpus = changed(cpus, placement, std::string(1, placement[0]) + "/cpu");
  }
  BOOST_REQUIRE(faults(cpus).size() == 1U);
  BOOST_TEST(
      faults(cpus)[0].text ==
      "table 1 'ad': is data_parallel and its lookups are not pooled, TorchRec fails on that "
      "on CPU");
}

BOOST_AUTO_TEST_CASE(the_linter_knows_hugectrs_rules) {
  check_fault(changed(kHugeCtr, "[\"user\", 2]", "[\"user\", 8]"), {},
              {"'user'", "8 column blocks on 4 GPUs"});
  check_fault(changed(kHugeCtr, "[\"user\", \"ad\"]", "[\"user\"]"), {},
              {"'ad'", "'dp' on 3 GPUs"});
  check_fault(changed(kHugeCtr, "[\"dp\", [\"ad\"]]", "[\"dp\", [[\"ad\", 2]]]"), {},
              {"'ad'", "'dp' in 2 column blocks"});
  Workload narrow = three_tables();
  narrow.tables[0].dim = 7;
  BOOST_TEST(value_of(lint_plan(value_of(parse_plan(kHugeCtr)), narrow, {})).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_plan_of_ours_can_be_held_against_another_target) {
  const PlanDocument document = document_of(
      2, {{0, 0, 10, 0, 2, 1}, {0, 0, 10, 2, 8, 0}, {1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 16, 0}});
  const std::string text = format_plan(document);
  BOOST_TEST(faults_of(text, {}).empty());
  check_fault(text, {.target = "torchrec"}, {"table 0 'user'", "2 columns", "multiple of 4"});
  check_fault(text, {.target = "hugectr"}, {"table 0 'user'", "equal width"});
  PlanDocument offloaded = document;
  test::set_offloaded(offloaded.plan, {{2, {ComputeKernel::kFusedUvm, 0}}});
  BOOST_TEST(faults_of(format_plan(offloaded), {}).empty());
  BOOST_TEST(faults_of(format_plan(offloaded), {.target = "hugectr"}).size() == 2U);
  check_refused(lint_plan(value_of(parse_plan(text)), three_tables(), {.target = "x"}).status(),
                {"'x'"});
  check_refused(
      lint_plan(value_of(parse_plan(text)), three_tables(), {.devices_per_host = 3}).status(),
      {"--devices-per-host: found 3 devices per host"});
}

BOOST_AUTO_TEST_CASE(tables_in_a_way_that_their_sharding_does_not_allow_are_faults) {
  Workload limited = three_tables();
  limited.tables[0].sharding = {.columns = false, .rows = false, .data_parallel = false};
  limited.tables[1].sharding.data_parallel = false;
  limited.tables[2].sharding = {.columns = false, .rows = false};
  const auto faults = [&](std::string_view text, const PlanRules& rules) {
    std::vector<std::string> texts;
    for (const PlanFault& fault : value_of(lint_plan(value_of(parse_plan(text)), limited, rules))) {
      BOOST_TEST(!fault.memory);
      texts.push_back(fault.text);
    }
    return texts;
  };
  const std::vector<std::string> torchrec = faults(kTorchRec, {.devices = 2});
  BOOST_REQUIRE(torchrec.size() == 2U);
  BOOST_TEST(
      torchrec[0] ==
      "table 1 'ad': found it whole on every device, its sharding allows whole, columns, rows");
  BOOST_TEST(torchrec[1] ==
             "table 2 'item': found it split by columns, its sharding allows whole, data_parallel");
  // One that cannot run is told of that alone.
  const std::string broken = changed(kTorchRec, "\"dense\"", "\"fused\"");
  BOOST_REQUIRE(faults(broken, {.devices = 2}).size() == 2U);
  BOOST_TEST(faults(broken, {.devices = 2})[0].find("sharding allows") == std::string::npos);
  const std::vector<std::string> hugectr = faults(kHugeCtr, {});
  BOOST_REQUIRE(hugectr.size() == 3U);
  BOOST_TEST(hugectr[0] == "table 0 'user': found it split by rows, its sharding allows whole");
  limited.tables[2].sharding = {.min_columns = 8};
  BOOST_TEST(faults(kTorchRec, {.devices = 2})[1] ==
             "table 2 'item': found a shard of 4 columns, its sharding allows no fewer than 8");
}

BOOST_AUTO_TEST_CASE(memory_counts_on_every_device) {
  const std::vector<PlanFault> faults = faults_of(kTorchRec, {.devices = 2, .memory_limit = 600});
  BOOST_REQUIRE(faults.size() == 1U);  // device 0: 96 + 192 bytes, device 1: 320 + 96 + 576
  BOOST_TEST(faults[0].memory);
  BOOST_TEST(faults[0].text.find("device 1 holds 992 B") != std::string::npos, faults[0].text);
}

BOOST_AUTO_TEST_CASE(rows_that_a_kernel_keeps_elsewhere_take_no_device_memory) {
  const auto fullest = [](const std::string& text) {
    const std::vector<PlanFault> faults = faults_of(text, {.devices = 2, .memory_limit = 300});
    return faults.empty() ? std::string("none") : faults.back().text;
  };
  BOOST_TEST(uncounted_memory(value_of(parse_plan(kTorchRec))).empty());
  BOOST_TEST(uncounted_memory(value_of(parse_plan(kHugeCtr))).empty());
  for (const std::string kernel : {"fused", "quant", "customized_kernel"}) {
    const std::string text = changed(kTorchRec, "\"fused\"", "\"" + kernel + "\"");
    BOOST_TEST(fullest(text).starts_with("device 1 holds 992 B"), fullest(text));
    BOOST_TEST(uncounted_memory(value_of(parse_plan(text))).empty());
  }
  for (const std::string kernel : {"fused_uvm_caching", "quant_uvm", "quant_uvm_caching",
                                   "key_value", "ssd_virtual_table", "dram_virtual_table"}) {
    const std::string text = changed(kTorchRec, "\"fused\"", "\"" + kernel + "\"");
    BOOST_TEST(fullest(text).starts_with("device 1 holds 672 B"), fullest(text));
    BOOST_TEST(uncounted_memory(value_of(parse_plan(text))) ==
               "f: 1 of 3 tables is not counted in any memory: with " + kernel +
                   ", rows are in host memory or on SSD, and the plan does not say how large a "
                   "cache of them the device has, if any");
    BOOST_TEST(fullest(changed(text, "\"fused\"", "\"key_value\"")) == "none");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
