#include "io/plan_import.h"

#include <boost/test/unit_test.hpp>

#include "io/plan_export.h"
#include "plans.h"
#include "support.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(plan_import)

namespace {

using test::check_prefixes_refused;
using test::check_refused;
using test::document_of;
using test::three_tables;
using test::value_of;

constexpr std::string_view kTorchRec = R"({"plan": {"sparse.ebc": {
  "user": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [1],
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [10, 8], "placement": "rank:1/cuda:1"}]},
  "ad": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1]}},
 "other": {
  "item": {"sharding_type": "column_wise", "compute_kernel": "fused", "ranks": [0, 1],
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [12, 4], "placement": "rank:0/cuda:0"},
               {"shard_offsets": [0, 4], "shard_sizes": [12, 12], "placement": "rank:1/cuda:1"}]}}}})";

constexpr std::string_view kHugeCtr = R"({
  "shard_matrix": [["user", "ad", "item"], ["user", "ad"], ["user", "ad"], ["user", "ad", "item"]],
  "shard_strategy": [["mp", [["user", 2], "item"]], ["dp", ["ad"]]],
  "compression_strategy": {"Unique": ["user"]}, "comm_strategy": "Uniform"})";

Result<PlanInput> parse(std::string_view bytes) { return parse_plan_input(bytes, "f"); }

std::string changed(std::string_view text, std::string_view from, std::string_view to) {
  std::string copy(text);
  const std::size_t place = copy.find(from);
  BOOST_REQUIRE_MESSAGE(place != std::string::npos, from);
  return copy.replace(place, from.size(), to);
}

Result<BoundPlan> bound(std::string_view text, std::int32_t devices) {
  return bind_plan(value_of(parse(text)), three_tables(), devices);
}

std::vector<PlanFault> faults_of(std::string_view text, const PlanRules& rules) {
  return value_of(lint_plan(value_of(parse(text)), three_tables(), rules));
}

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

BOOST_AUTO_TEST_CASE(a_torchrec_plan_is_read) {
  const PlanInput input = value_of(parse(kTorchRec));
  BOOST_TEST(input.format() == "torchrec");
  BOOST_TEST(input.devices() == 0);
  const BoundPlan plan = value_of(bind_plan(input, three_tables(), 2));
  const PlanDocument expected = document_of(2, {{0, 0, 10, 0, 8, 1},
                                                {1, 0, 6, 0, 4, kEveryDevice},
                                                {2, 0, 12, 0, 4, 0},
                                                {2, 0, 12, 4, 16, 1}});
  BOOST_TEST((plan.document.plan == expected.plan));
  BOOST_TEST(plan.document.batch_size == 1024);
  BOOST_TEST(plan.notes.empty());
  BOOST_TEST(faults_of(kTorchRec, {.devices = 2}).empty());
}

/// TorchRec's plan of three tables on 4 ranks, 2 a host: two modules, one of them on host 1.
constexpr std::string_view kTwoModules = R"({"plan": {"sparse.ebc": {
  "user": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [2],
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [10, 8], "placement": "rank:2/cuda:0"}]},
  "ad": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1, 2, 3]}},
 "sparse.late": {
  "item": {"sharding_type": "column_wise", "compute_kernel": "fused", "ranks": [1, 3],
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [12, 4], "placement": "rank:1/cuda:1"},
               {"shard_offsets": [0, 4], "shard_sizes": [12, 12], "placement": "rank:3/cuda:1"}]}}}})";

Result<std::string> rewritten(std::string_view text, std::int32_t devices,
                              const PlanExportOptions& options = {}) {
  return export_plan("torchrec", three_tables(), value_of(bound(text, devices)).document, options);
}

BOOST_AUTO_TEST_CASE(modules_and_placements_of_a_torchrec_plan_are_written_again) {
  const std::string again = value_of(rewritten(kTwoModules, 4));
  for (const std::string part :
       {R"("sparse.ebc": {
      "user": {)",
        R"("sparse.late": {
      "item": {)",
        "rank:2/cuda:0", "rank:1/cuda:1", "rank:3/cuda:1", R"("devices_per_host": 2)"}) {
    BOOST_TEST(again.find(part) != std::string::npos, part << " is not in " << again);
  }
  BOOST_TEST(value_of(rewritten(again, 4)) == again);
  // What is asked for counts.
  const std::string asked = value_of(rewritten(
      kTwoModules, 4, {.module = "bags", .trainer_device = "cpu", .devices_per_host = 1}));
  BOOST_TEST(asked.find("sparse") == std::string::npos);
  BOOST_TEST(asked.find("\"bags\": {\n      \"user\"") != std::string::npos, asked);
  BOOST_TEST(asked.find("\"rank:2/cpu\"") != std::string::npos);
  BOOST_TEST(asked.find("\"devices_per_host\": 1") != std::string::npos);
  const std::string on_cpu = value_of(rewritten(asked, 4));
  BOOST_TEST(on_cpu == asked);
}

BOOST_AUTO_TEST_CASE(places_that_no_words_say_are_refused_not_changed) {
  const std::string mixed = changed(kTorchRec, "rank:0/cuda:0", "rank:0/cpu");
  check_refused(rewritten(mixed, 2).status(),
                {"found placements on 'cuda' and, of table 'item', on 'cpu'", "--trainer-device"});
  BOOST_TEST(rewritten(mixed, 2, {.trainer_device = "cpu"}).ok());
  const std::string meta = changed(kTwoModules, "rank:2/cuda:0", "rank:2/meta");
  check_refused(rewritten(meta, 4).status(), {"found placements on 'meta'"});
  const std::string far = changed(kTwoModules, "rank:2/cuda:0", "rank:2/cuda:5");
  check_refused(rewritten(far, 4).status(), {"rank modulo devices per host", "--devices-per-host"});
  BOOST_TEST(rewritten(far, 4, {.devices_per_host = 2}).ok());
  BOOST_TEST(rewritten(far, 4, {.trainer_device = "cpu"}).ok());
  const std::string said = changed(value_of(rewritten(kTwoModules, 4)), "/cuda:0", "/cuda:1");
  const TrainerPlaces places = value_of(bound(said, 4)).document.places;
  BOOST_TEST(places.devices_per_host == 2);
  BOOST_TEST(!places.host_fault.empty());
  check_refused(rewritten(said, 4).status(), {"rank modulo devices per host"});
  check_refused(rewritten(changed(kTwoModules, "rank:2/cuda:0", "rank:2/cuda"), 4).status(),
                {"rank modulo devices per host"});
  const std::string nameless = changed(kTwoModules, "\"sparse.late\"", "\"\"");
  check_refused(rewritten(nameless, 4).status(), {"table 2 'item': found no module"});
}

BOOST_AUTO_TEST_CASE(tables_say_their_modules_where_the_plan_does_not) {
  const PlanDocument plain =
      document_of(2, {{0, 0, 10, 0, 8, 1}, {1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 16, 0}});
  const auto exported = [](const PlanDocument& document, std::vector<std::string> modules,
                           const std::string& module = "") {
    return export_plan("torchrec", three_tables(), document,
                       {.module = module, .table_modules = std::move(modules)});
  };
  const std::string two = value_of(exported(plain, {"a", "b.c", "a"}));
  PlanDocument read = value_of(bound(two, 0)).document;
  canonicalize(read.plan);
  const std::vector<std::string> expected{"a", "b.c", "a"};
  BOOST_TEST(read.places.modules == expected, boost::test_tools::per_element());
  BOOST_TEST((read.plan == plain.plan));
  BOOST_TEST(value_of(exported(read, {"x", "y", "z"})) == two);
  const std::string one = value_of(exported(read, {"x", "y", "z"}, "all"));
  BOOST_TEST(one.find("\"all\": {") != std::string::npos);
  BOOST_TEST(one.find("b.c") == std::string::npos);
  check_refused(exported(plain, {"a", "", "a"}).status(), {"table 1 'ad': found no module"});
}

BOOST_AUTO_TEST_CASE(row_types_of_one_host_say_how_large_a_host_is) {
  const auto rows_on = [](int first) {
    const auto shard = [&](int rank) {
      return R"({"shard_offsets": [)" + std::to_string((rank - first) * 6) +
             R"(, 0], "shard_sizes": [6, 16], "placement": "rank:)" + std::to_string(rank) +
             "/cuda:" + std::to_string(rank - first) + "\"}";
    };
    return R"({"plan": {"": {"item": {"sharding_type": "table_row_wise", "compute_kernel": "fused",
      "ranks": [)" +
           std::to_string(first) + ", " + std::to_string(first + 1) + R"(], "shards": [)" +
           shard(first) + ", " + shard(first + 1) + "]}}}}";
  };
  const Workload item{{test::table_of("item", 12, 16)}, 64};
  for (const int first : {0, 2}) {
    const PlanInput input = value_of(parse(rows_on(first)));
    const BoundPlan plan = value_of(bind_plan(input, item, 4));
    BOOST_TEST(plan.document.places.devices_per_host == 2);
    BOOST_TEST(value_of(lint_plan(input, item, {.devices = 4})).empty());
    BOOST_TEST(value_of(export_plan("torchrec", item, plan.document, {})).find("table_row_wise") !=
               std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(what_other_formats_drop_is_known) {
  const PlanDocument document = value_of(bound(kTwoModules, 4)).document;
  BOOST_TEST(lost_places("torchrec", document).empty());
  BOOST_TEST(lost_places("json", document) == "modules, hosts");
  BOOST_TEST(lost_places("hugectr", document) == "modules");
  const std::string cpu =
      value_of(rewritten(kTwoModules, 4, {.trainer_device = "cpu", .devices_per_host = 4}));
  BOOST_TEST(lost_places("json", value_of(bound(cpu, 4)).document) == "modules, CPU placements");
}

BOOST_AUTO_TEST_CASE(hugectr_lists_are_read) {
  const BoundPlan plan = value_of(bound(kHugeCtr, 0));
  PlanDocument expected = document_of(4, {{0, 0, 5, 0, 4, 0},
                                          {0, 5, 10, 0, 4, 1},
                                          {0, 0, 5, 4, 8, 2},
                                          {0, 5, 10, 4, 8, 3},
                                          {1, 0, 6, 0, 4, kEveryDevice},
                                          {2, 0, 6, 0, 16, 0},
                                          {2, 6, 12, 0, 16, 3}});
  Plan read = plan.document.plan;
  canonicalize(read);
  BOOST_TEST((read == expected.plan));
  BOOST_TEST(plan.notes.size() == 2U);  // rows by key modulo, of user and item
  BOOST_TEST(faults_of(kHugeCtr, {}).empty());
}

BOOST_AUTO_TEST_CASE(rows_by_modulo_have_the_sizes_of_the_modulo) {
  HugeCtrTable table;
  table.gpus = {1, 4, 6};
  std::vector<std::int64_t> rows;
  for (const Shard& shard : hugectr_shards(table, test::table_of("t", 11, 4), 0)) {
    rows.push_back(shard.rows());
  }
  BOOST_TEST(rows == (std::vector<std::int64_t>{4, 4, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bad_torchrec_fields_are_named_with_their_path) {
  const std::tuple<std::string_view, std::string_view, std::string_view> cases[] = {
      {"table_wise", "table_vise", "user.sharding_type: found 'table_vise', expected one of"},
      {"\"ranks\": [1]", "\"ranks\": [65536]", "user.ranks[0]: found 65536"},
      {"\"ranks\": [1]", "\"ranks\": [0]",
       "shards[0]: found a placement on rank 1, expected rank 0"},
      {"\"ranks\": [1]", "\"ranks\": []", "shards: found 1 shards and 0 ranks"},
      {"[10, 8]", "[10, 0]", "shards[0].shard_sizes[1]: found 0"},
      {"[10, 8]", "[-1, 8]", "shards[0].shard_sizes[0]: found -1"},
      {"[10, 8]", "[10]", "shards[0].shard_sizes: found an array of 1"},
      {"[0, 0]", "[9223372036854775807, 0]", "shard_offsets[0]: found 9223372036854775807"},
      {"rank:1/cuda:1", "rank:1", "placement: found 'rank:1', expected a placement"},
      {"rank:1/cuda:1", "rank:x/cuda:1", "placement: found 'rank:x/cuda:1'"},
      {"rank:1/cuda:1", "rank:99999/cuda:1", "placement: found 'rank:99999/cuda:1'"},
      {"\"fused\"", "\"bogus\"",
       "user.compute_kernel: found 'bogus', expected one of dense, fused"},
      {"\"compute_kernel\": \"fused\", ", "", "found no key 'compute_kernel'"},
      {"\"ranks\": [1]", "\"ranks\": [1], \"cache\": {}", "user.cache: found an unknown key"},
      {"\"item\"", "\"user\"", "found the table 'user' in a second module"},
      {"{\"plan\"", "{\"version\": 1, \"plan\"", "$.version: found an unknown key"},
  };
  for (const auto& [from, to, message] : cases) {
    check_refused(parse(changed(kTorchRec, from, to)).status(), {"f: ", message});
  }
  check_refused(parse(R"({"plan": {}})").status(), {"f: $.plan: found no tables"});
  check_refused(parse(R"({"plan": {"": {}}, "neuroshard": {}})").status(), {"found no tables"});
  check_refused(parse("{}").status(), {"f: $: found no key 'format', 'plan' or 'shard_matrix'"});
  check_refused(parse("[]").status(), {"f: $: found an array"});
}

BOOST_AUTO_TEST_CASE(bad_hugectr_fields_are_named_with_their_path) {
  const std::tuple<std::string_view, std::string_view, std::string_view> cases[] = {
      {"[\"user\", \"ad\", \"item\"]", "[\"user\", \"user\"]",
       "$.shard_matrix[0][1]: found 'user' a second time"},
      {"[\"user\", \"ad\", \"item\"]", "[1]", "$.shard_matrix[0][0]: found 1"},
      {"\"mp\"", "\"tp\"", "$.shard_strategy[0][0]: found 'tp', expected 'mp' or 'dp'"},
      {"[\"user\", 2]", "[\"user\", 0]", "$.shard_strategy[0][1][0][1]: found 0"},
      {"[\"user\", 2]", "[\"user\"]", "$.shard_strategy[0][1][0]: found an array of 1"},
      {"[\"user\", 2], ", "", "$.shard_strategy: found no strategy for 'user'"},
      {"[\"user\", 2]", "\"users\"", "$.shard_strategy[0][1][0]: found 'users'"},
      {"[\"ad\"]]]", "[\"ad\", \"item\"]]]", "$.shard_strategy[1][1][1]: found 'item'"},
      {"\"Uniform\"", "\"Fast\"", "$.comm_strategy: found 'Fast'"},
      {"\"Unique\"", "\"Dense\"", "$.compression_strategy.Dense: found an unknown key"},
  };
  for (const auto& [from, to, message] : cases) {
    check_refused(parse(changed(kHugeCtr, from, to)).status(), {"f: ", message});
  }
  check_refused(parse(R"({"shard_matrix": [], "shard_strategy": []})").status(),
                {"$.shard_matrix: found 0 GPUs"});
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  check_prefixes_refused(kTorchRec, "f", parse);
  check_prefixes_refused(kHugeCtr, "f", parse);
}

BOOST_AUTO_TEST_CASE(a_plan_must_be_for_these_tables_and_a_known_number_of_devices) {
  check_refused(bound(kTorchRec, 0).status(), {"f: found no number of devices", "--devices"});
  check_refused(bound(kHugeCtr, 3).status(), {"f: found a plan for 4 devices, expected one for 3"});
  check_refused(bound(kTorchRec, 1).status(), {"f: ", "device 1, expected 0 to 0"});
  check_refused(bound(changed(kTorchRec, "\"item\"", "\"items\""), 2).status(),
                {"f: table 'items' is not among the tables given"});
  check_refused(bound(changed(kTorchRec, "[12, 12]", "[12, 8]"), 2).status(),
                {"f: table 2: shards cover 144 of its 192 cells"});
  check_refused(bound(changed(kHugeCtr, "[\"user\", 2]", "[\"user\", 3]"), 0).status(),
                {"f: table 'user': 3 column blocks on 4 GPUs"});
}

BOOST_AUTO_TEST_CASE(kernels_without_a_cost_model_are_refused_not_rewritten) {
  for (const std::string kernel : {"fused_uvm", "fused_uvm_caching", "key_value", "quant",
                                   "ssd_virtual_table", "dram_virtual_table", "dense"}) {
    const std::string text = changed(kTorchRec, "\"fused\"", "\"" + kernel + "\"");
    check_refused(bound(text, 2).status(), {"f: table 0 'user': compute kernel '" + kernel +
                                            "' with table_wise, expected 'fused'"});
    // TorchRec itself runs them, "dense" apart.
    BOOST_TEST(faults_of(text, {.devices = 2}).empty() == (kernel != "dense"));
  }
  check_refused(bound(changed(kTorchRec, "\"dense\"", "\"fused\""), 2).status(),
                {"f: table 1 'ad': compute kernel 'fused' with data_parallel, expected 'dense'"});
}

BOOST_AUTO_TEST_CASE(the_linter_tells_every_fault) {
  const std::string bad = changed(changed(kTorchRec, "\"item\"", "\"items\""), "[10, 8]", "[9, 8]");
  const std::vector<PlanFault> faults = faults_of(bad, {.devices = 2});
  BOOST_REQUIRE(faults.size() == 3U);
  BOOST_TEST(faults[0].text == "table 'items' is not among the tables given");
  BOOST_TEST(faults[1].text.find("table 0: shards cover 72 of its 80") != std::string::npos);
  BOOST_TEST(faults[2].text.find("table 2: shards cover 0 of its 192") != std::string::npos);
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

BOOST_AUTO_TEST_CASE(the_linter_knows_torchrecs_rules) {
  const PlanRules two{.devices = 2};
  check_fault(changed(kTorchRec, "\"dense\"", "\"fused\""), two, {"table 1 'ad'", "'dense' with"});
  check_fault(changed(kTorchRec, "\"fused\"", "\"dense\""), two, {"table 0 'user'", "'dense'"});
  check_fault(changed(kTorchRec, "\"ranks\": [0, 1]}", "\"ranks\": [0]}"), two,
              {"table 1 'ad'", "on 1 ranks, expected all 2"});
  check_fault(changed(kTorchRec, "table_wise", "row_wise"), two,
              {"table 0 'user'", "row_wise with 1 shards, expected one for each of 2 ranks"});
  check_fault(changed(kTorchRec, "column_wise", "row_wise"), two,
              {"table 2 'item'", "is called row_wise, its shards make it column_wise"});
  const std::string widths = changed(changed(kTorchRec, "[12, 4]", "[12, 6]"), "[0, 4]", "[0, 6]");
  check_fault(changed(widths, "[12, 12]", "[12, 10]"), two,
              {"table 2 'item'", "6 columns", "multiple of 4"});
  BOOST_TEST(faults_of(changed(kTorchRec, "\"table_wise\"", "\"column_wise\""), two).empty());
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
    return value_of(lint_plan(value_of(parse(text)), one, {.devices = 2})).size();
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
    return value_of(lint_plan(value_of(parse(text)), one, {.devices = 2}));
  };
  const std::string cut = changed(changed(plan, "[10, 8]", "[1, 8]"), "[10, 0]", "[1, 0]");
  BOOST_REQUIRE(faults(cut).size() == 1U);
  BOOST_TEST(faults(cut)[0].text ==
             "table 'user': row_wise leaves a rank without rows, TorchRec fails on that on CPU");
  const std::string gpus =
      changed(changed(cut, "rank:0/cpu", "rank:0/cuda:0"), "rank:1/cpu", "rank:1/cuda:1");
  BOOST_TEST(faults(gpus).empty());
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
  BOOST_TEST(value_of(lint_plan(value_of(parse(kHugeCtr)), narrow, {})).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_plan_of_ours_can_be_held_against_another_target) {
  const PlanDocument document = document_of(
      2, {{0, 0, 10, 0, 2, 1}, {0, 0, 10, 2, 8, 0}, {1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 16, 0}});
  const std::string text = format_plan(document);
  BOOST_TEST(faults_of(text, {}).empty());
  check_fault(text, {.target = "torchrec"}, {"table 0 'user'", "2 columns", "multiple of 4"});
  check_fault(text, {.target = "hugectr"}, {"table 0 'user'", "equal width"});
  check_refused(lint_plan(value_of(parse(text)), three_tables(), {.target = "x"}).status(),
                {"'x'"});
  check_refused(lint_plan(value_of(parse(text)), three_tables(), {.devices_per_host = 3}).status(),
                {"devices per host: found 3"});
}

BOOST_AUTO_TEST_CASE(memory_counts_on_every_device) {
  const std::vector<PlanFault> faults = faults_of(kTorchRec, {.devices = 2, .memory_limit = 600});
  BOOST_REQUIRE(faults.size() == 1U);  // device 0: 96 + 192 bytes, device 1: 320 + 96 + 576
  BOOST_TEST(faults[0].memory);
  BOOST_TEST(faults[0].text.find("device 1 holds 992 B") != std::string::npos, faults[0].text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
