// Tables in host memory in plans for trainers: TorchRec's kernels are written, read, counted and
// held against the tables; what trainers have no place for is refused.
#include <boost/test/unit_test.hpp>

#include "engine/core/offload.h"
#include "io/formats/plan_export.h"
#include "io/formats/plan_lint.h"
#include "tests/io/trainer_plans.h"
#include "tests/support/kernels.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(torchrec_offload)

namespace {

using test::changed;
using test::check_refused;
using test::document_of;
using test::faults_of;
using test::kTorchRec;
using test::three_tables;
using test::value_of;

constexpr TableKernel kUvm{ComputeKernel::kFusedUvm, 0};
constexpr TableKernel kQuarterCached{ComputeKernel::kFusedUvmCaching, 0.25};

/// kTorchRec's shards, `user` and `item` in host memory.
PlanDocument offloaded_document() {
  PlanDocument document = document_of(2, {{0, 0, 10, 0, 8, 1},
                                          {1, 0, 6, 0, 4, kEveryDevice},
                                          {2, 0, 12, 0, 4, 0},
                                          {2, 0, 12, 4, 16, 1}});
  test::set_offloaded(document.plan, {{0, kUvm}, {2, kQuarterCached}});
  return document;
}

std::string offloaded_text(const PlanExportOptions& options = {}) {
  return value_of(export_plan("torchrec", three_tables(), offloaded_document(), options));
}

/// kTorchRec with another kernel, and what is to be behind it, of `user`.
std::string with_kernel(const std::string& kernel, const std::string& more = {}) {
  return changed(kTorchRec, "\"compute_kernel\": \"fused\"",
                 "\"compute_kernel\": \"" + kernel + "\"" + more);
}

Result<BoundPlan> bound_to_two(std::string_view text) {
  return bind_plan(value_of(test::parse_plan(text)), three_tables(), 2);
}

/// The one fault of a plan; "" where there is none.
std::string only_fault(std::string_view text, const Workload& workload, const PlanRules& rules) {
  const std::vector<PlanFault> faults =
      value_of(lint_plan(value_of(test::parse_plan(text)), workload, rules));
  BOOST_TEST(faults.size() <= 1U);
  return faults.empty() ? "" : faults[0].text;
}

BOOST_AUTO_TEST_CASE(kernels_and_caches_are_written_beside_each_other) {
  const std::string text = offloaded_text();
  const std::size_t user = text.find("\"user\"");
  const std::size_t ad = text.find("\"ad\"");
  const std::size_t item = text.find("\"item\"");
  BOOST_REQUIRE((user < ad && ad < item && item != std::string::npos));
  BOOST_TEST(text.substr(user, ad - user).find("\"compute_kernel\": \"fused_uvm\",") !=
             std::string::npos);
  BOOST_TEST(text.substr(ad, item - ad).find("\"compute_kernel\": \"dense\",") !=
             std::string::npos);
  BOOST_TEST(text.substr(item).find("\"compute_kernel\": \"fused_uvm_caching\",") !=
             std::string::npos);
  BOOST_TEST(text.substr(item).find("\"cache_params\": {\"load_factor\": 0.25}") !=
             std::string::npos);
  BOOST_TEST(text.substr(0, item).find("cache_params") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(they_are_read_back_in_any_order_of_the_tables) {
  Plan read = value_of(bound_to_two(offloaded_text())).document.plan;
  canonicalize(read);
  BOOST_TEST((read == offloaded_document().plan));
  const std::string again = value_of(export_plan(
      "torchrec", three_tables(), value_of(bound_to_two(offloaded_text())).document, {}));
  BOOST_TEST(again == offloaded_text());

  Workload reversed = three_tables();
  std::swap(reversed.tables.front(), reversed.tables.back());
  const Plan of_reversed =
      value_of(bind_plan(value_of(test::parse_plan(offloaded_text())), reversed, 2)).document.plan;
  BOOST_REQUIRE(offloaded_tables(of_reversed).size() == 2U);
  BOOST_TEST((offloaded_tables(of_reversed)[0] == OffloadedTable{0, kQuarterCached}));
  BOOST_TEST((offloaded_tables(of_reversed)[1] == OffloadedTable{2, kUvm}));
}

BOOST_AUTO_TEST_CASE(columns_that_are_joined_keep_their_kernel) {
  // Of two widths on device 1, which TorchRec has as one shard.
  PlanDocument document = offloaded_document();
  document.plan.shards = {{0, 0, 10, 0, 8, 1},
                          {1, 0, 6, 0, 4, kEveryDevice},
                          {2, 0, 12, 0, 4, 1},
                          {2, 0, 12, 4, 8, 0},
                          {2, 0, 12, 8, 16, 1}};
  const std::string text = value_of(export_plan("torchrec", three_tables(), document, {}));
  const Plan read = value_of(bound_to_two(text)).document.plan;
  BOOST_TEST(read.shards.size() == 4U);
  BOOST_TEST((offloaded_tables(read) == offloaded_tables(document.plan)));
}

BOOST_AUTO_TEST_CASE(kernels_that_cannot_be_are_refused) {
  check_refused(bound_to_two(with_kernel("fused_uvm_caching")).status(),
                {"f: table 0 'user': compute kernel 'fused_uvm_caching' without cache_params"});
  for (const std::string kernel : {"fused_uvm", "fused_uvm_caching", "fused"}) {
    const std::string text = changed(kTorchRec, "\"dense\"", "\"" + kernel + "\"");
    check_refused(bound_to_two(text).status(), {"f: table 1 'ad': compute kernel '" + kernel +
                                                "' with data_parallel, expected 'dense'"});
    BOOST_TEST(only_fault(text, three_tables(), {.devices = 2}) ==
               "table 1 'ad': compute kernel '" + kernel +
                   "' with data_parallel, TorchRec takes 'dense' with data_parallel only");
  }
  check_refused(test::parse_plan(with_kernel("fused_ssd")).status(),
                {"user.compute_kernel: found 'fused_ssd', expected one of dense, fused, "});
}

BOOST_AUTO_TEST_CASE(caches_that_cannot_be_are_refused_with_their_path) {
  const auto cached = [](const std::string& params) {
    return test::parse_plan(with_kernel("fused_uvm_caching", ", \"cache_params\": " + params));
  };
  BOOST_TEST(cached("{\"load_factor\": 1}").ok());
  check_refused(cached("{\"load_factor\": 0}").status(),
                {"user.cache_params.load_factor: found 0, expected above 0 and at most 1"});
  check_refused(cached("{\"load_factor\": 1.01}").status(), {"load_factor: found 1.01"});
  check_refused(cached("{\"load_factor\": \"0.2\"}").status(), {"user.cache_params.load_factor: "});
  check_refused(cached("{}").status(), {"user.cache_params: found no key 'load_factor'"});
  check_refused(cached("0.2").status(), {"user.cache_params: found 0.2"});
  check_refused(cached("{\"load_factor\": 0.2, \"algorithm\": \"LRU\"}").status(),
                {"user.cache_params.algorithm: found an unknown key"});
  for (const std::string kernel : {"fused", "fused_uvm", "key_value"}) {
    const std::string text = with_kernel(kernel, ", \"cache_params\": {\"load_factor\": 0.2}");
    check_refused(test::parse_plan(text).status(),
                  {"user.cache_params: found with the compute kernel '" + kernel +
                   "', expected with 'fused_uvm_caching' alone"});
  }
  // All shards of a table have one kernel: there is no place for others.
  check_refused(test::parse_plan(changed(kTorchRec, "\"placement\"",
                                         "\"compute_kernel\": \"fused_uvm\", \"placement\""))
                    .status(),
                {"user.shards[0].compute_kernel: found an unknown key"});
}

BOOST_AUTO_TEST_CASE(ranks_on_cpu_have_no_such_kernels) {
  PlanDocument document = offloaded_document();
  const PlanExportOptions cpu{.trainer_device = "cpu"};
  check_refused(export_plan("torchrec", three_tables(), document, cpu).status(),
                {"table 0 'user': compute kernel 'fused_uvm' where ranks are CPUs"});
  test::set_offloaded(document.plan, {{2, kQuarterCached}});
  check_refused(export_plan("torchrec", three_tables(), document, cpu).status(),
                {"table 2 'item': compute kernel 'fused_uvm_caching' where ranks are CPUs"});
  test::set_offloaded(document.plan, {});
  const std::string text = value_of(export_plan("torchrec", three_tables(), document, cpu));
  const std::string fused = "\"compute_kernel\": \"fused\"";
  for (const std::string kernel : {"fused_uvm", "fused_uvm_caching", "key_value"}) {
    BOOST_TEST(only_fault(changed(text, fused, "\"compute_kernel\": \"" + kernel + "\""),
                          three_tables(),
                          {}) == "table 0 'user': compute kernel '" + kernel +
                                     "' where ranks are CPUs, TorchRec has it on GPUs only");
  }
  BOOST_TEST(only_fault(text, three_tables(), {}).empty());
}

BOOST_AUTO_TEST_CASE(formats_without_a_place_for_host_memory_refuse_it) {
  // Whole tables, so that nothing else is in the way.
  PlanDocument document =
      document_of(2, {{0, 0, 10, 0, 8, 1}, {1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 16, 0}});
  document.cost = {1, std::vector<DeviceCost>(2, {.compute_ms = 1})};
  for (const PlanFormat& format : plan_formats()) {
    BOOST_TEST(export_plan(format.name, three_tables(), document, {}).ok());
  }
  test::set_offloaded(document.plan, {{1, kUvm}});
  int refused = 0;
  for (const PlanFormat& format : plan_formats()) {
    const Result<std::string> text = export_plan(format.name, three_tables(), document, {});
    BOOST_TEST(text.ok() == format.rules.host_memory, format.name);
    if (format.rules.host_memory) continue;
    ++refused;
    check_refused(text.status(), {"table 1 'ad': is in host memory (fused_uvm), HugeCTR's lists "
                                  "have no place for tables there"});
  }
  BOOST_TEST(refused == 2);  // hugectr and hugectr-python
  const std::string text = format_plan(document);
  BOOST_TEST(only_fault(text, three_tables(), {}).empty());
  BOOST_TEST(only_fault(text, three_tables(), {.target = "torchrec"}).empty());
  BOOST_TEST(only_fault(text, three_tables(), {.target = "hugectr"}) ==
             "table 1 'ad': is in host memory (fused_uvm), HugeCTR's lists have no place for "
             "tables there");
}

BOOST_AUTO_TEST_CASE(memory_is_counted_with_the_kernels) {
  const auto held = [](std::string_view text) {
    std::vector<std::string> lines;
    for (const PlanFault& fault : faults_of(text, {.devices = 2, .memory_limit = 1})) {
      BOOST_TEST(fault.memory);
      lines.push_back(fault.text);
    }
    return lines;
  };
  // `ad` has 96 bytes on each; of `item` 4 bytes a row are there, and 3 of its 12 rows with 16
  // bytes each beside 4 or 12 weights: 48 + 3 * 32 and 48 + 3 * 64. Nothing of `user`.
  const std::vector<std::string> both = held(offloaded_text());
  BOOST_REQUIRE(both.size() == 2U);
  BOOST_TEST(both[0].starts_with("device 0 holds 240 B"), both[0]);
  BOOST_TEST(both[1].starts_with("device 1 holds 336 B"), both[1]);
  BOOST_TEST(uncounted_memory(value_of(test::parse_plan(offloaded_text()))).empty());
  // The same in the engine's own file.
  BOOST_TEST(held(format_plan(offloaded_document())) == both, boost::test_tools::per_element());
  // `user` alone: 96 + 576 bytes of the others on device 1.
  const std::vector<std::string> uvm = held(with_kernel("fused_uvm"));
  BOOST_REQUIRE(uvm.size() == 2U);
  BOOST_TEST(uvm[1].starts_with("device 1 holds 672 B"), uvm[1]);
  BOOST_TEST(uncounted_memory(value_of(test::parse_plan(with_kernel("fused_uvm")))).empty());
  // 3 of 10 rows with 32 + 16 bytes each, 4 bytes a row.
  const std::string cached =
      with_kernel("fused_uvm_caching", ", \"cache_params\": {\"load_factor\": 0.25}");
  BOOST_TEST(held(cached)[1].starts_with("device 1 holds 856 B"), held(cached)[1]);
  BOOST_TEST(uncounted_memory(value_of(test::parse_plan(cached))).empty());
}

BOOST_AUTO_TEST_CASE(hosts_hold_what_their_devices_have_there) {
  const auto held = [](std::int32_t devices_per_host, std::int64_t limit) {
    std::vector<std::string> lines;
    for (const PlanFault& fault :
         faults_of(format_plan(offloaded_document()),
                   {.devices_per_host = devices_per_host, .host_memory_limit = limit})) {
      BOOST_TEST(fault.memory);
      lines.push_back(fault.text);
    }
    return lines;
  };
  // `item` has 192 and 576 bytes, `user` 320 beside the latter.
  BOOST_TEST(held(0, 1088).empty());
  BOOST_TEST(held(0, 1087) == std::vector<std::string>{"host 0 holds 1088 B, hosts have 1087 B"},
             boost::test_tools::per_element());
  BOOST_TEST(held(1, 896).empty());
  BOOST_TEST(held(1, 895) == std::vector<std::string>{"host 1 holds 896 B, hosts have 895 B"},
             boost::test_tools::per_element());
  // All on the devices.
  BOOST_TEST(faults_of(kTorchRec, {.devices = 2, .host_memory_limit = 1}).empty());
}

BOOST_AUTO_TEST_CASE(kernels_that_a_table_does_not_allow_are_told) {
  Workload limited = three_tables();
  const PlanRules two{.devices = 2};
  const std::string cached =
      with_kernel("fused_uvm_caching", ", \"cache_params\": {\"load_factor\": 0.25}");
  limited.tables[0].kernels.fused_uvm_caching = false;
  BOOST_TEST(
      only_fault(cached, limited, two) ==
      "table 0 'user': found the kernel fused_uvm_caching with 25 % of the rows, it may have "
      "fused, fused_uvm");
  BOOST_TEST(only_fault(with_kernel("fused_uvm_caching"), limited, two) ==
             "table 0 'user': found the kernel fused_uvm_caching, it may have fused, fused_uvm");
  BOOST_TEST(only_fault(with_kernel("key_value"), limited, two) ==
             "table 0 'user': found the kernel key_value, it may have fused, fused_uvm");
  BOOST_TEST(only_fault(with_kernel("fused_uvm"), limited, two).empty());
  // Another load factor; one that the file does not say may be the right one.
  limited.tables[0].kernels = {.fused = false, .fused_uvm = false, .load_factor = 0.5};
  BOOST_TEST(only_fault(cached, limited, two).find("caches with 50 % of the rows") !=
             std::string::npos);
  BOOST_TEST(only_fault(with_kernel("fused_uvm_caching"), limited, two).empty());
  BOOST_TEST(
      only_fault(with_kernel("fused"), limited, two) ==
      "table 0 'user': found the kernel fused, it may have fused_uvm_caching, caches with 50 "
      "% of the rows");
  limited.tables[0].kernels = {};
  BOOST_TEST(only_fault(with_kernel("key_value"), limited, two).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
