// Plans with tables in host memory: which are valid, and what is in which memory.
#include "engine/core/offload.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "tests/support/kernels.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(offload)

namespace {

constexpr TableKernel kFromHost{ComputeKernel::kFusedUvm, 0};
constexpr TableKernel kHalfCached{ComputeKernel::kFusedUvmCaching, 0.5};

Table plain_table(std::int64_t rows, std::int32_t dim) {
  Table table;
  table.name = std::to_string(rows);
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = 1;
  table.reuse_histogram[0] = 1;
  return table;
}

/// Tables of 10 x 8, 6 x 4 and 12 x 16: 320, 96 and 768 bytes.
Workload tables_of_a_plan() {
  return {{plain_table(10, 8), plain_table(6, 4), plain_table(12, 16)}, 1024};
}

/// On 5 devices; the second table on every one, the third in halves of its columns.
Plan fused_plan() {
  return {5,
          {{0, 0, 10, 0, 8, 1},
           {1, 0, 6, 0, 4, kEveryDevice},
           {2, 0, 12, 0, 8, 1},
           {2, 0, 12, 8, 16, 4}}};
}

Plan plan_with(const std::vector<OffloadedTable>& offloaded) {
  return test::with_offloaded(fused_plan(), offloaded);
}

std::string refusal_of(const std::vector<OffloadedTable>& offloaded) {
  Plan plan = fused_plan();
  const Status status = give_kernels(offloaded, plan);
  if (status.ok()) BOOST_TEST((offloaded_tables(plan) == offloaded));
  return status.message();
}

std::string fault_of(const Plan& plan) {
  const Workload workload = tables_of_a_plan();
  const Status status = validate(workload, plan);
  const std::vector<Status> faults = find_faults(workload, plan);
  BOOST_TEST(faults.size() == (status.ok() ? 0U : 1U));
  if (!faults.empty()) BOOST_TEST(faults[0].message() == status.message());
  return status.message();
}

using Bytes = std::vector<std::int64_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(offloaded_tables_are_given_in_order_each_with_a_kernel_of_its_own) {
  BOOST_TEST(refusal_of({}) == "");
  BOOST_TEST(refusal_of({{0, kFromHost}, {2, kHalfCached}}) == "");
  for (const std::int32_t table : {3, -1}) {
    BOOST_TEST(refusal_of({{table, kFromHost}}) == "offloaded[0]: table " + std::to_string(table) +
                                                       " has no shards, expected one that has");
  }
  BOOST_TEST(refusal_of({{2, kFromHost}, {0, kFromHost}}) ==
             "offloaded[1]: table 0 after 2, expected each once and in order");
  BOOST_TEST(refusal_of({{0, kFromHost}, {0, kHalfCached}}) ==
             "offloaded[1]: table 0 after 0, expected each once and in order");
  BOOST_TEST(refusal_of({{0, {}}}) ==
             "offloaded[0]: kernel 'fused', expected one that reads host memory");
  BOOST_TEST(refusal_of({{0, kFromHost}, {2, {ComputeKernel::kFusedUvmCaching, 0}}}) ==
             "offloaded[1]: load factor 0 of fused_uvm_caching, expected above 0 and at most 1");
  BOOST_TEST(refusal_of({{0, {ComputeKernel::kFusedUvm, 0.5}}}) ==
             "offloaded[0]: load factor 0.5 of fused_uvm, expected one with fused_uvm_caching "
             "alone");
  BOOST_TEST(refusal_of({{1, kFromHost}}) ==
             "shards[1]: table 1 is in host memory and on every device, expected one of both");
}

BOOST_AUTO_TEST_CASE(all_shards_of_a_table_have_one_kernel) {
  BOOST_TEST(fault_of(fused_plan()) == "");
  BOOST_TEST(fault_of(plan_with({{0, kFromHost}, {2, kHalfCached}})) == "");
  BOOST_TEST(fault_of(plan_with({{1, kFromHost}})) ==
             "shards[1]: table 1 is in host memory and on every device, expected one of both");
  BOOST_TEST(fault_of(plan_with({{0, {ComputeKernel::kFusedUvm, 0.5}}})) ==
             "shards[0]: load factor 0.5 of fused_uvm, expected one with fused_uvm_caching alone");
  Plan halves = fused_plan();
  halves.shards[3].kernel = kHalfCached;
  BOOST_TEST(fault_of(halves) ==
             "shards[3]: found the kernel fused_uvm_caching with 50 % of the rows, expected fused "
             "as the table's other shards have it");
}

BOOST_AUTO_TEST_CASE(tables_too_large_for_a_count_of_bytes_with_their_caches_are_refused) {
  Workload workload{{plain_table(std::int64_t{1} << 59, 1)}, 1024};
  Plan plan{1, {whole_table(workload, 0, 0)}};
  BOOST_TEST(validate(workload).ok());
  BOOST_TEST(validate(workload, plan).ok());
  test::set_offloaded(plan, {{0, kHalfCached}});
  BOOST_TEST(validate(workload, plan).message() ==
             "shards[0]: tables[0..0] in all places that they may have, expected below 2^63 bytes");
  BOOST_TEST(find_faults(workload, plan).size() == 1U);
  BOOST_TEST(check_offloaded_bytes(workload).message() ==
             "memory: tables[0..0] in all places that they may have, expected below 2^63 bytes");
  workload.tables[0].rows = plan.shards[0].row_end = std::int64_t{1} << 57;
  BOOST_TEST(validate(workload, plan).ok());
  BOOST_TEST(check_offloaded_bytes(workload).ok());
}

BOOST_AUTO_TEST_CASE(bytes_are_counted_in_the_memory_they_are_in) {
  const Workload workload = tables_of_a_plan();
  BOOST_TEST(device_bytes(workload, plan_with({})) == (Bytes{96, 800, 96, 96, 480}),
             boost::test_tools::per_element());
  BOOST_TEST(device_host_bytes(workload, plan_with({})) == (Bytes{0, 0, 0, 0, 0}),
             boost::test_tools::per_element());
  const Plan plan = plan_with({{0, kFromHost}, {2, kHalfCached}});
  // Of 12 rows 4 bytes each, and of 6 of them 32 bytes of weights and 16 beside.
  constexpr std::int64_t kCache = 12 * 4 + 6 * (32 + 16);
  BOOST_TEST(device_bytes(workload, plan) == (Bytes{96, 96 + kCache, 96, 96, 96 + kCache}),
             boost::test_tools::per_element());
  BOOST_TEST(device_host_bytes(workload, plan) == (Bytes{0, 320 + 384, 0, 0, 384}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(hosts_have_what_their_devices_have_there) {
  const Workload workload = tables_of_a_plan();
  const Plan plan = plan_with({{0, kFromHost}, {2, kHalfCached}});
  const auto bytes = [&](std::int32_t each) { return host_bytes(workload, plan, each); };
  BOOST_TEST(bytes(5) == (Bytes{1088}), boost::test_tools::per_element());
  BOOST_TEST(bytes(1) == (Bytes{0, 704, 0, 0, 384}), boost::test_tools::per_element());
  BOOST_TEST(bytes(2) == (Bytes{704, 0, 384}), boost::test_tools::per_element());
  BOOST_TEST(bytes(8) == (Bytes{1088}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_knows_no_host_memory_can_refuse_such_plans) {
  BOOST_TEST(check_none_offloaded(plan_with({}), "why").ok());
  const Status refused =
      check_none_offloaded(plan_with({{1, kFromHost}, {2, kFromHost}}), "nothing reads that");
  BOOST_TEST((refused.code() == StatusCode::kInvalidInput));
  BOOST_TEST(refused.message() == "offloaded: table 1 is in host memory: nothing reads that");
}

BOOST_AUTO_TEST_CASE(shares_of_rows_that_are_whole_numbers_are_not_rounded_up) {
  Table table;
  table.rows = 100;
  table.dim = 256;
  TableKernel kernel{ComputeKernel::kFusedUvmCaching, 0.07};
  BOOST_TEST(table_bytes(table, {}, kernel) == 100 * 4 + 7 * (256 * 4 + 16));
  kernel.load_factor = 0.071;
  BOOST_TEST(table_bytes(table, {}, kernel) == 100 * 4 + 8 * (256 * 4 + 16));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
