#include "io/plans/plan_file.h"

#include <boost/test/unit_test.hpp>

#include "engine/core/hot_rows.h"
#include "support.h"
#include "tests/support/kernels.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(plan_file)

namespace {

using test::check_prefixes_refused;
using test::check_refused;
using test::value_of;

Result<PlanDocument> parse(std::string_view bytes) { return parse_plan(bytes, "f"); }

/// Two tables of 10 rows x 8 columns and one of 6 x 4: column halves, row halves, one replicated.
PlanDocument example() {
  PlanDocument document;
  document.plan.devices = 2;
  document.plan.shards = {{1, 5, 10, 0, 8, 0},
                          {2, 0, 6, 0, 4, kEveryDevice},
                          {0, 0, 10, 4, 8, 1},
                          {1, 0, 5, 0, 8, 1},
                          {0, 0, 10, 0, 4, 0}};
  document.batch_size = 65536;
  document.cost.cost_ms = 7.25;
  document.cost.per_device = {{1.5, 0.25, 0.5, 416, 16}, {5, 1.25, 1, 416, 16}};
  document.provenance = {"0.1.0",          "h200",      std::string(64, 'a'),
                         "H200, nvswitch", "simulated", std::string(64, 'b'),
                         "refine",         42};
  return document;
}

constexpr std::string_view kExample = R"({
  "format": "neuroshard-plan",
  "version": 1,
  "devices": 2,
  "batch_size": 65536,
  "cost_ms": 7.25,
  "shards": [
    {"table": 0, "rows": [0, 10], "columns": [0, 4], "device": 0},
    {"table": 0, "rows": [0, 10], "columns": [4, 8], "device": 1},
    {"table": 1, "rows": [0, 5], "columns": [0, 8], "device": 1},
    {"table": 1, "rows": [5, 10], "columns": [0, 8], "device": 0},
    {"table": 2, "rows": [0, 6], "columns": [0, 4], "device": "all"}
  ],
  "per_device": [
    {"device": 0, "compute_ms": 1.5, "forward_comm_ms": 0.25, "backward_comm_ms": 0.5, "total_ms": 2.25, "memory_bytes": 416, "dim_sum": 16},
    {"device": 1, "compute_ms": 5, "forward_comm_ms": 1.25, "backward_comm_ms": 1, "total_ms": 7.25, "memory_bytes": 416, "dim_sum": 16}
  ],
  "provenance": {
    "engine_version": "0.1.0",
    "cost_model": "h200",
    "cost_model_sha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "hardware": "H200, nvswitch",
    "cost_provenance": "simulated",
    "input_sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "algorithm": "refine",
    "seed": 42
  }
}
)";

/// kExample with the first `from` replaced by `to`.
std::string changed(std::string_view from, std::string_view to) {
  std::string text(kExample);
  const std::size_t place = text.find(from);
  BOOST_REQUIRE_MESSAGE(place != std::string::npos, from);
  return text.replace(place, from.size(), to);
}

BOOST_AUTO_TEST_CASE(a_plan_is_written_in_canonical_order) {
  BOOST_TEST(format_plan(example()) == kExample);
}

BOOST_AUTO_TEST_CASE(a_plan_is_read_back) {
  const PlanDocument document = value_of(parse(kExample));
  PlanDocument expected = example();
  canonicalize(expected.plan);
  BOOST_TEST((document.plan == expected.plan));
  BOOST_TEST(document.batch_size == 65536);
  BOOST_TEST(document.cost.cost_ms == 7.25);
  BOOST_REQUIRE(document.cost.per_device.size() == 2U);
  BOOST_TEST(document.cost.per_device[1].forward_comm_ms == 1.25);
  BOOST_TEST(document.cost.per_device[1].total_ms() == 7.25);
  BOOST_TEST(document.cost.per_device[1].memory_bytes == 416);
  BOOST_TEST(document.cost.per_device[1].dim_sum == 16);
  BOOST_TEST((document.provenance == expected.provenance));
  BOOST_TEST(format_plan(document) == kExample);
}

BOOST_AUTO_TEST_CASE(older_files_do_not_say_where_costs_come_from_and_stay_so) {
  const std::string older = changed(
      "    \"hardware\": \"H200, nvswitch\",\n    \"cost_provenance\": \"simulated\",\n", "");
  const PlanDocument document = value_of(parse(older));
  BOOST_TEST(document.provenance.cost_model == "h200");
  BOOST_TEST(document.provenance.cost_provenance.empty());
  BOOST_TEST(format_plan(document) == older);
}

/// example() with all that it was made for.
PlanDocument told_example() {
  PlanDocument document = example();
  document.setting = {{"user", "ad, \"new\"", ""}, 1'000'000, 2'000'000};
  document.places.devices_per_host = 2;
  document.provenance.bandwidths_gbps = {897, 600, 12.5, 32};
  document.provenance.cache_hits = "curve";
  return document;
}

BOOST_AUTO_TEST_CASE(a_plan_says_what_it_was_made_for) {
  const std::string text = format_plan(told_example());
  for (const char* part :
       {"  \"device_memory_bytes\": 1000000,\n  \"host_memory_bytes\": 2000000,\n"
        "  \"devices_per_host\": 2,\n",
        "  \"table_names\": [\n    \"user\",\n    \"ad, \\\"new\\\"\",\n    \"\"\n  ],\n",
        "    \"bandwidths_gbps\": [897, 600, 12.5, 32],\n    \"cache_hits\": \"curve\",\n"}) {
    BOOST_TEST(text.find(part) != std::string::npos, part << " is not in " << text);
  }
  const PlanDocument again = value_of(parse(text));
  BOOST_TEST(again.setting.memory_bytes == 1'000'000);
  BOOST_TEST(again.setting.host_memory_bytes == 2'000'000);
  BOOST_TEST(again.setting.table_names == told_example().setting.table_names,
             boost::test_tools::per_element());
  BOOST_TEST(again.places.devices_per_host == 2);
  BOOST_TEST((again.provenance == told_example().provenance));
  BOOST_TEST(format_plan(again) == text);
  BOOST_TEST(value_of(parse(kExample)).setting.memory_bytes == 0);
}

BOOST_AUTO_TEST_CASE(what_no_plan_was_made_for_is_refused) {
  const auto refused = [](std::string_view key_and_value, std::string_view words) {
    const std::string text =
        changed("\"cost_ms\": 7.25", std::string(key_and_value) + ", \"cost_ms\": 7.25");
    check_refused(parse(text).status(), {words});
  };
  refused("\"device_memory_bytes\": 0", "$.device_memory_bytes: found 0");
  refused("\"device_memory_bytes\": \"80GB\"", "$.device_memory_bytes");
  refused("\"host_memory_bytes\": -1", "$.host_memory_bytes");
  refused("\"devices_per_host\": 0", "$.devices_per_host");
  refused("\"devices_per_host\": 3", "a divisor of 2 devices");
  refused("\"table_names\": [\"a\", \"a\"]", "a second time");
  refused("\"table_names\": [1]", "$.table_names[0]");
  for (const char* list :
       {"[1, 2, 3]", "[1, 2, 3, 0]", "[1, 2, 3, 1e7]", "[1, 2, 3, \"4\"]", "4"}) {
    const std::string text =
        changed("\"hardware\"", std::string("\"bandwidths_gbps\": ") + list + ", \"hardware\"");
    check_refused(parse(text).status(), {"bandwidths_gbps"});
  }
  for (const char* word : {"\"load-factor\"", "\"\"", "1"}) {
    const std::string text =
        changed("\"hardware\"", std::string("\"cache_hits\": ") + word + ", \"hardware\"");
    check_refused(parse(text).status(), {"cache_hits"});
  }
}

BOOST_AUTO_TEST_CASE(a_plan_written_by_hand_needs_no_costs_and_no_provenance) {
  const std::string text =
      R"({"format": "neuroshard-plan", "version": 1, "devices": 1, "batch_size": 64,
          "shards": [{"device": 0, "columns": [0, 4], "rows": [5, 10], "table": 0},
                     {"table": 0, "rows": [0, 5], "columns": [0, 4], "device": 0}]})";
  const PlanDocument document = value_of(parse(text));
  BOOST_TEST(document.plan.shards[0].row_begin == 5);  // the order of the file
  BOOST_TEST(document.cost.per_device.empty());
  const std::string again = format_plan(document);
  BOOST_TEST(again.find("cost_ms") == std::string::npos);
  BOOST_TEST(again.find("provenance") == std::string::npos);
  BOOST_TEST(format_plan(value_of(parse(again))) == again);
}

/// The first table is read through a cache, the second from its host.
PlanDocument offloaded_example() {
  PlanDocument document = example();
  test::set_offloaded(document.plan, {{0, {ComputeKernel::kFusedUvmCaching, 0.1}},
                                      {1, {ComputeKernel::kFusedUvm, 0}}});
  document.cost.per_device[1].host_bytes = 480;
  return document;
}

constexpr std::string_view kOffloaded = R"(  "offloaded": [
    {"table": 0, "compute_kernel": "fused_uvm_caching", "cache_load_factor": 0.1},
    {"table": 1, "compute_kernel": "fused_uvm"}
  ],
  "per_device": [)";

/// kExample with what it says of host memory.
std::string offloaded_text(std::string_view offloaded = kOffloaded) {
  std::string text = changed("  \"per_device\": [", offloaded);
  const std::string_view last = "\"memory_bytes\": 416, \"dim_sum\": 16}\n";
  const std::size_t place = text.find(last);
  BOOST_REQUIRE(place != std::string::npos);
  return text.insert(place + 21, "\"host_bytes\": 480, ");
}

BOOST_AUTO_TEST_CASE(tables_in_host_memory_are_written_and_read_back) {
  BOOST_TEST(format_plan(offloaded_example()) == offloaded_text());
  const PlanDocument document = value_of(parse(offloaded_text()));
  BOOST_TEST((offloaded_tables(document.plan) == offloaded_tables(offloaded_example().plan)));
  BOOST_TEST(document.cost.per_device[0].host_bytes == 0);
  BOOST_TEST(document.cost.per_device[1].host_bytes == 480);
  BOOST_TEST(format_plan(document) == offloaded_text());
  check_prefixes_refused(offloaded_text(), "f", parse, 1);
  // Any factor comes back as it was.
  PlanDocument odd = offloaded_example();
  for (const double factor : {1.0, 1e-9, 0.1 + 0.2, 1.0 / 3}) {
    test::set_offloaded(odd.plan, {{0, {ComputeKernel::kFusedUvmCaching, factor}}});
    BOOST_TEST(
        (offloaded_tables(value_of(parse(format_plan(odd))).plan) == offloaded_tables(odd.plan)));
  }
  // Said of none, or of a device without: as if it was not.
  const PlanDocument none = value_of(parse(changed("  \"per_device\": [", R"(  "offloaded": [],
  "per_device": [)")));
  BOOST_TEST(format_plan(none) == kExample);
  BOOST_TEST(format_plan(value_of(parse(changed("\"memory_bytes\": 416", R"("memory_bytes": 416,
    "host_bytes": 0)")))) == kExample);
}

BOOST_AUTO_TEST_CASE(hot_rows_are_written_and_read_back) {
  PlanDocument document = example();
  const HotRows hot{1, 3};
  BOOST_REQUIRE(give_hot_rows({&hot, 1}, document.plan).ok());
  const PlanDocument plain = value_of(parse(format_plan(document)));
  BOOST_TEST((hot_rows(plain.plan) == hot_rows(document.plan)));
  document.hot_lookups = {{17, 0.75, 0.5}};
  const std::string text = format_plan(document);
  BOOST_TEST(text.find(R"({"table": 1, "min_count": 17, "rows": 3, "lookup_share": 0.75, )"
                       R"("cold_bag_share": 0.5})") != std::string::npos);
  BOOST_TEST((value_of(parse(text)).hot_lookups == document.hot_lookups));
  BOOST_TEST(format_plan(value_of(parse(text))) == text);
}

BOOST_AUTO_TEST_CASE(hot_rows_of_no_plan_are_refused) {
  const auto refused = [](const std::string& list, const std::string& message) {
    const std::string text = "  \"hot_rows\": " + list + ",\n  \"per_device\": [";
    const std::string got(parse(changed("  \"per_device\": [", text)).status().message());
    BOOST_TEST(got.find(message) != std::string::npos, got);
  };
  refused(R"([{"table": 1, "rows": 0}])", "hot_rows[0]");
  refused(R"([{"table": 1}])", "hot_rows[0]");
  refused(R"([{"table": 7, "rows": 1}])", "hot_rows[0]: table 7 has no shards");
  refused(R"([{"table": 1, "rows": 1}, {"table": 0, "rows": 1}])",
          "found table 0 after 1, expected each once and in order");
  refused(R"([{"table": 1, "rows": 1, "lookup_share": 2}])", "lookup_share");
}

BOOST_AUTO_TEST_CASE(bad_kernels_of_a_plan_are_named_with_their_path) {
  const auto refused = [](const std::string& list, const std::string& message) {
    const std::string text = "  \"offloaded\": " + list + ",\n  \"per_device\": [";
    check_refused(parse(offloaded_text(text)).status(), {"f: $.offloaded" + message});
  };
  const std::string uvm = R"("compute_kernel": "fused_uvm")";
  const std::string cached = R"("compute_kernel": "fused_uvm_caching")";
  refused("{}", ": found an object, expected an array");
  refused("[1]", "[0]: found 1, expected an object");
  refused("[{" + uvm + "}]", "[0]: found no key 'table'");
  refused("[{\"table\": -1, " + uvm + "}]", "[0].table: found -1, expected an integer from 0");
  refused("[{\"table\": 2147483648, " + uvm + "}]", "[0].table: found 2147483648");
  refused(R"([{"table": 0}])", "[0]: found no key 'compute_kernel'");
  for (const std::string word : {"fused", "FUSED_UVM", "dense", ""}) {
    refused(
        R"([{"table": 0, "compute_kernel": ")" + word + "\"}]",
        "[0].compute_kernel: found '" + word + "', expected 'fused_uvm_caching' or 'fused_uvm'");
  }
  refused(R"([{"table": 0, "compute_kernel": 1}])",
          "[0].compute_kernel: found 1, expected a string");
  refused("[{\"table\": 0, " + cached + "}]", "[0]: found no key 'cache_load_factor'");
  for (const std::string factor : {"0", "-0.1", "1.01", "1e300"}) {
    refused("[{\"table\": 0, " + cached + ", \"cache_load_factor\": " + factor + "}]",
            "[0].cache_load_factor: found " + factor);
  }
  refused("[{\"table\": 0, " + uvm + ", \"cache_load_factor\": 0.2}]",
          "[0].cache_load_factor: found an unknown key");
  refused("[{\"table\": 1, " + uvm + "}, {\"table\": 0, " + uvm + "}]",
          "[1]: found table 0 after 1, expected each once and in order");
  refused("[{\"table\": 1, " + uvm + "}, {\"table\": 1, " + uvm + "}]",
          "[1]: found table 1 after 1, expected each once and in order");
  check_refused(
      parse(changed("\"memory_bytes\": 416", "\"memory_bytes\": 416, \"host_bytes\": -1")).status(),
      {"f: $.per_device[0].host_bytes: found -1"});
}

BOOST_AUTO_TEST_CASE(bad_fields_are_named_with_their_path) {
  const std::tuple<std::string_view, std::string_view, std::string_view> cases[] = {
      {"neuroshard-plan", "neuroshard-tables", "f: $.format: found 'neuroshard-tables'"},
      {"\"version\": 1", "\"version\": 3", "f: $.version: found 3, expected version 1"},
      {"\"devices\": 2", "\"devices\": 0", "$.devices: found 0, expected an integer from 1 to"},
      {"\"devices\": 2", "\"devices\": 65537", "$.devices: found 65537"},
      {"\"devices\": 2", "\"devices\": 2.0", "$.devices: found 2.0"},
      {"\"devices\": 2", "\"devices\": 3", "$.per_device: found an array of 2, expected an array"},
      {"\"batch_size\": 65536", "\"batch_size\": -1", "$.batch_size: found -1"},
      {"\"batch_size\": 65536,", "", "f: $: found no key 'batch_size'"},
      {"\"cost_ms\": 7.25", "\"cost_ms\": null", "$.cost_ms: found null, expected a number"},
      {"\"cost_ms\": 7.25", "\"cost_ms\": NaN", "f:6:14: found 'NaN'"},
      {"\"cost_ms\"", "\"costs_ms\"", "$.costs_ms: found an unknown key"},
      {"\"table\": 0", "\"table\": -1", "$.shards[0].table: found -1"},
      {"\"table\": 1", "\"table\": 2147483648", "$.shards[2].table: found 2147483648"},
      {"\"table\": 0", "\"table\": \"user\"", "$.shards[0].table: found 'user'"},
      {"[0, 10]", "[0, 10, 20]", "$.shards[0].rows: found an array of 3, expected an array of 2"},
      {"[0, 10]", "[10, 10]", "$.shards[0].rows[1]: found 10, expected an integer of at least 11"},
      {"[0, 10]", "[-1, 10]", "$.shards[0].rows[0]: found -1"},
      {"[0, 10]", "[0, 9223372036854775808]", "$.shards[0].rows[1]: found 9223372036854775808"},
      {"[0, 10]", "[9223372036854775807, 1]", "$.shards[0].rows[0]: found 9223372036854775807"},
      {"[0, 4]", "[0, 1048577]", "$.shards[0].columns[1]: found 1048577"},
      {"[0, 4]", "[4, 0]", "$.shards[0].columns[1]: found 0"},
      {"\"device\": 0}", "\"device\": 2}", "$.shards[0].device: found 2, expected an integer from"},
      {"\"device\": 0}", "\"device\": -1}", "$.shards[0].device: found -1"},
      {"\"all\"", "\"every\"",
       "$.shards[4].device: found 'every', expected an integer from 0 to 1"},
      {"\"device\": 0}", "\"device\": 0, \"host\": 0}", "$.shards[0].host: found an unknown key"},
      {"{\"table\": 0,", "{\"table\": 0, \"table\": 0,", "found the key 'table' twice"},
      {"{\"device\": 1", "{\"device\": 0", "$.per_device[1].device: found 0"},
      {"\"total_ms\": 2.25", "\"total_ms\": 3", "$.per_device[0].total_ms: found 3, expected the"},
      {"\"compute_ms\": 1.5", "\"compute_ms\": 1e301", "$.per_device[0].compute_ms: found 1e301"},
      {"\"memory_bytes\": 416", "\"memory_bytes\": -1", "$.per_device[0].memory_bytes: found -1"},
      {"\"dim_sum\": 16", "\"dim_sum\": 1.5", "$.per_device[0].dim_sum: found 1.5"},
      {"\"simulated\"", "\"guessed\"",
       "$.provenance.cost_provenance: found 'guessed', expected 'measured' or 'simulated'"},
      {"\"hardware\": \"H200, nvswitch\",", "", "$.provenance: found no key 'hardware'"},
      {"\"cost_provenance\": \"simulated\",", "", "$.provenance: found no key 'cost_provenance'"},
      {"\"seed\": 42", "\"seed\": -1", "$.provenance.seed: found -1"},
      {",\n    \"seed\": 42", "", "$.provenance: found no key 'seed'"},
      {"\"seed\": 42", "\"seed\": 42, \"user\": \"me\"", "$.provenance.user: found an unknown key"},
      {"\"refine\"", "\"\xFF\"", "expected UTF-8"},
  };
  for (const auto& [from, to, message] : cases) {
    check_refused(parse(changed(from, to)).status(), {"f:", message});
  }
  check_refused(parse("[]").status(), {"f: $: found an array of 0, expected an object"});
  check_refused(parse(std::string(100, '[')).status(), {"levels"});
}

BOOST_AUTO_TEST_CASE(every_device_of_a_step_says_what_the_dense_part_takes) {
  PlanDocument document = example();
  document.cost.per_device[0].dense_ms = 0.5;  // and nothing of it is exposed on the other
  const std::string text = format_plan(document);
  BOOST_TEST(text.find("\"dense_ms\": 0.5,") != std::string::npos, text);
  BOOST_TEST(text.find("\"dense_ms\": 0,") != std::string::npos, text);
  BOOST_TEST(format_plan(value_of(parse(text))) == text);
}

BOOST_AUTO_TEST_CASE(the_largest_seed_survives) {
  PlanDocument document = example();
  document.provenance.seed = UINT64_MAX;
  BOOST_TEST(value_of(parse(format_plan(document))).provenance.seed == UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  check_prefixes_refused(kExample, "f", parse, 1);
}

/// Plans that others and older versions wrote have none.
BOOST_AUTO_TEST_CASE(how_sure_a_cost_is_comes_back) {
  PlanDocument document = example();
  BOOST_TEST(!value_of(parse(format_plan(document))).cost_error.has_value());
  for (const std::optional<double> share : {std::optional(0.08), std::optional<double>()}) {
    document.cost_error = CostError{share, "why"};
    const std::string text = format_plan(document);
    BOOST_TEST(text.find(share ? "\"cost_error\": {\"share\": 0.08, \"basis\": \"why\"}"
                               : "\"cost_error\": {\"share\": null, \"basis\": \"why\"}") !=
                   std::string::npos,
               text);
    const PlanDocument read = value_of(parse(text));
    BOOST_REQUIRE(read.cost_error.has_value());
    BOOST_TEST((read.cost_error->share == share));
    BOOST_TEST(read.cost_error->basis == "why");
    BOOST_TEST(format_plan(read) == text);
  }
  document.cost_error = CostError{0.08, "why"};
  std::string negative = format_plan(document);
  negative.replace(negative.find("0.08"), 4, "-0.1");
  check_refused(parse(negative).status(), {"$.cost_error.share"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
