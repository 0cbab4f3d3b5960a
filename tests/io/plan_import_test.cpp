#include "io/plans/plan_import.h"

#include <boost/test/unit_test.hpp>

#include "io/formats/plan_export.h"
#include "io/formats/plan_lint.h"
#include "io/trainers/torchrec_plan.h"
#include "tests/io/trainer_plans.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(plan_import)

namespace {

using test::changed;
using test::check_prefixes_refused;
using test::check_refused;
using test::document_of;
using test::faults_of;
using test::kHugeCtr;
using test::kTorchRec;
using test::kTwoModules;
using test::parse_plan;
using test::three_tables;
using test::value_of;

Result<BoundPlan> bound(std::string_view text, std::int32_t devices) {
  return bind_plan(value_of(parse_plan(text)), three_tables(), devices);
}

BOOST_AUTO_TEST_CASE(a_torchrec_plan_is_read) {
  const PlanInput input = value_of(parse_plan(kTorchRec));
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
  BOOST_TEST(torchrec_modules(3, read.places, {}) == expected, boost::test_tools::per_element());
  BOOST_TEST((read.plan == plain.plan));
  BOOST_TEST(value_of(exported(read, {"x", "y", "z"})) == two);
  const std::string one = value_of(exported(read, {"x", "y", "z"}, "all"));
  BOOST_TEST(one.find("\"all\": {") != std::string::npos);
  BOOST_TEST(one.find("b.c") == std::string::npos);
  check_refused(exported(plain, {"a", "", "a"}).status(), {"table 1 'ad': found no module"});
}

BOOST_AUTO_TEST_CASE(tables_that_a_trainers_plan_lacks_are_in_the_modules_that_their_file_names) {
  const Workload all = three_tables();
  const Workload now{{test::table_of("new", 5, 4), all.tables[0], all.tables[1], all.tables[2]},
                     1024};
  PlanDocument document =
      value_of(bind_plan(value_of(parse_plan(kTorchRec)), now, 2, PlanAge::kOlder)).document;
  document.plan = with_missing_tables(now, document.plan);
  canonicalize(document.plan);
  const std::vector<std::string> modules{"late", "x", "x", "x"};
  const std::string text =
      value_of(export_plan("torchrec", now, document, {.table_modules = modules}));
  for (const std::string part : {R"("late": {
      "new": {)",
                                 R"("sparse.ebc": {
      "user": {)",
                                 R"("other": {
      "item": {)"}) {
    BOOST_TEST(text.find(part) != std::string::npos, part << " is not in " << text);
  }
  check_refused(export_plan("torchrec", now, document, {}).status(),
                {"table 0 'new': found no module, expected one as for the other tables"});
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
    const PlanInput input = value_of(parse_plan(rows_on(first)));
    const BoundPlan plan = value_of(bind_plan(input, item, 4));
    BOOST_TEST(plan.document.places.devices_per_host == 2);
    BOOST_TEST(value_of(lint_plan(input, item, {.devices = 4})).empty());
    BOOST_TEST(value_of(export_plan("torchrec", item, plan.document, {})).find("table_row_wise") !=
               std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(hosts_that_placements_leave_open_are_the_usual_ones) {
  const Workload user{{test::table_of("user", 10, 8)}, 64};
  const auto hosts_of_16 = [&](int rank, int local) {
    const std::string text =
        R"({"plan": {"": {"user": {"sharding_type": "table_wise", "compute_kernel": "fused",
          "ranks": [)" +
        std::to_string(rank) +
        R"(], "shards": [{"shard_offsets": [0, 0], "shard_sizes": [10, 8], "placement": "rank:)" +
        std::to_string(rank) + "/cuda:" + std::to_string(local) + "\"}]}}}}";
    return value_of(bind_plan(value_of(parse_plan(text)), user, 16)).document.places;
  };
  BOOST_TEST(hosts_of_16(7, 7).devices_per_host == 8);
  BOOST_TEST(hosts_of_16(9, 1).devices_per_host == 8);
  BOOST_TEST(hosts_of_16(9, 9).devices_per_host == 16);
}

BOOST_AUTO_TEST_CASE(what_other_formats_drop_is_known) {
  const PlanDocument document = value_of(bound(kTwoModules, 4)).document;
  BOOST_TEST(lost_places("torchrec", document).empty());
  BOOST_TEST(lost_places("json", document) == "modules");
  BOOST_TEST(lost_places("hugectr", document) == "modules");
  const std::string cpu =
      value_of(rewritten(kTwoModules, 4, {.trainer_device = "cpu", .devices_per_host = 4}));
  BOOST_TEST(lost_places("json", value_of(bound(cpu, 4)).document) == "modules, CPU placements");
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
    check_refused(parse_plan(changed(kTorchRec, from, to)).status(), {"f: ", message});
  }
  check_refused(parse_plan(R"({"plan": {}})").status(), {"f: $.plan: found no tables"});
  check_refused(parse_plan(R"({"plan": {"": {}}, "neuroshard": {}})").status(),
                {"found no tables"});
  check_refused(parse_plan("{}").status(),
                {"f: $: found no key 'format', 'plan' or 'shard_matrix'"});
  check_refused(parse_plan("[]").status(), {"f: $: found an array"});
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  check_prefixes_refused(kTorchRec, "f", parse_plan);
  check_prefixes_refused(kHugeCtr, "f", parse_plan);
}

BOOST_AUTO_TEST_CASE(a_plan_must_be_for_these_tables_and_a_known_number_of_devices) {
  check_refused(bound(kTorchRec, 0).status(), {"f: found no number of devices", "--devices"});
  check_refused(bound(kHugeCtr, 3).status(), {"f: found a plan for 4 devices, expected one for 3"});
  check_refused(bound(kTorchRec, 1).status(), {"f: ", "device 1, expected 0 to 0"});
  check_refused(bound(changed(kTorchRec, "\"item\"", "\"items\""), 2).status(),
                {"f: table 'items' is not among the tables given"});
  check_refused(bound(changed(kTorchRec, "[12, 12]", "[12, 8]"), 2).status(),
                {"f: table 2 'item': shards cover 144 of its 192 cells"});
  check_refused(bound(changed(kHugeCtr, "[\"user\", 2]", "[\"user\", 3]"), 0).status(),
                {"f: table 'user': 3 column blocks on 4 GPUs"});
}

BOOST_AUTO_TEST_CASE(kernels_without_a_cost_model_are_refused_not_rewritten) {
  for (const std::string kernel :
       {"key_value", "quant", "ssd_virtual_table", "dram_virtual_table", "dense"}) {
    const std::string text = changed(kTorchRec, "\"fused\"", "\"" + kernel + "\"");
    check_refused(bound(text, 2).status(), {"f: table 0 'user': compute kernel '" + kernel +
                                            "' with table_wise, expected 'fused', "});
    // TorchRec itself runs them, "dense" apart.
    BOOST_TEST(faults_of(text, {.devices = 2}).empty() == (kernel != "dense"));
  }
  check_refused(bound(changed(kTorchRec, "\"dense\"", "\"fused\""), 2).status(),
                {"f: table 1 'ad': compute kernel 'fused' with data_parallel, expected 'dense'"});
}

BOOST_AUTO_TEST_CASE(a_table_on_some_ranks_is_refused_not_put_on_all) {
  const auto with_ranks = [](const std::string& ranks) {
    return changed(kTwoModules, "[0, 1, 2, 3]", ranks);
  };
  for (const std::string ranks :
       {"[0, 1]", "[]", "[0, 1, 2, 2]", "[0, 1, 2, 4]", "[0, 1, 2, 3, 4]"}) {
    const std::string expected =
        "table 1 'ad': data_parallel: found ranks " + ranks + ", expected all 4";
    check_refused(bound(with_ranks(ranks), 4).status(), {"f: " + expected});
    const std::vector<PlanFault> faults = faults_of(with_ranks(ranks), {.devices = 4});
    BOOST_REQUIRE(faults.size() == 1U);
    BOOST_TEST(faults[0].text == expected);
  }
  BOOST_TEST(bound(with_ranks("[3, 1, 0, 2]"), 4).ok());
  check_refused(bound(with_ranks("[0, 1, 2, 3, 4, 5, 6, 7, 8]"), 4).status(),
                {"found ranks [0, 1, 2, 3, 4, 5, 6, 7, ..], expected all 4"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
