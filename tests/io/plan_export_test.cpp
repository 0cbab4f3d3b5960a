// What all formats of plans have in common, what each has no place for, and the table of CSV.
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/hot_rows.h"
#include "tests/io/exported_plans.h"
#include "tests/support/kernels.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(plan_export)

namespace {

using test::check_refused;
using test::document_of;
using test::every_kind_of_shard;
using test::refused;
using test::three_tables;
using test::value_of;

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

BOOST_AUTO_TEST_CASE(csv_has_a_line_a_shard_and_quotes_names) {
  Workload workload = three_tables();
  workload.tables[0].name = "a \"b\", c";
  BOOST_TEST(value_of(export_plan("csv", workload, every_kind_of_shard(), {})) ==
             "table,name,row_begin,row_end,column_begin,column_end,device,bytes\n"
             "0,\"a \"\"b\"\", c\",0,10,0,8,1,320\n"
             "1,ad,0,6,0,4,all,96\n"
             "2,item,0,12,0,4,2,192\n"
             "2,item,0,12,4,12,0,384\n"
             "2,item,0,12,12,16,2,192\n");
}

BOOST_AUTO_TEST_CASE(csv_says_which_tables_are_in_host_memory_where_any_is) {
  PlanDocument document = every_kind_of_shard();
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
  check_refused(refused("onnx", every_kind_of_shard()),
                {"plan format: found 'onnx'", "json, torchrec"});
  PlanExportOptions options;
  options.devices_per_host = 3;
  check_refused(refused("torchrec", every_kind_of_shard(), options), {"devices per host: found 3"});
  options = {};
  options.trainer_device = "tpu";
  check_refused(refused("torchrec", every_kind_of_shard(), options),
                {"found 'tpu'", "cuda or cpu"});
  options = {};
  options.memory_limit = -1;
  check_refused(refused("html", every_kind_of_shard(), options), {"memory limit: found -1"});
  for (const std::string module : {"a..b", "a b", ".a", "a.", ".", "a\tb", "a\n"}) {
    options = {};
    options.module = module;
    check_refused(refused("torchrec", every_kind_of_shard(), options),
                  {"module: found '", "dotted name"});
  }
  PlanDocument hole = every_kind_of_shard();
  hole.plan.shards.pop_back();
  for (const PlanFormat& format : plan_formats()) {
    check_refused(refused(format.name, hole), {"table 2"});
  }
  Workload twins = three_tables();
  twins.tables[1].name = "user";
  check_refused(export_plan("torchrec", twins, every_kind_of_shard(), {}).status(),
                {"both called 'user'"});
  check_refused(export_plan("hugectr", twins, every_kind_of_shard(), {}).status(),
                {"both called 'user'"});
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
