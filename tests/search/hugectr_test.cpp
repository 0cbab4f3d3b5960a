// HugeCTR's planning rule: small cases by hand, and MLPerf's DLRM-DCNv2 as the original plans it
// (samples/dlrm/sharding of HugeCTR 2f2016f, run with a stable sort).
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/row_blocks.h"
#include "search/hugectr/hugectr_rule.h"
#include "search/hugectr/hugectr_sharder.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard {

using search::hugectr_rule;
using search::RuledPlan;
using search::RuledTable;
using search::SearchOptions;
using test::make_cluster;
using test::make_table;

namespace {

Workload dcnv2() {
  constexpr std::int64_t kLarge = 40'000'000;
  Workload workload{
      {make_table(kLarge, 128, 3),  make_table(39060, 128, 2),   make_table(17295, 128, 1),
       make_table(7424, 128, 2),    make_table(20265, 128, 6),   make_table(3, 128, 1),
       make_table(7122, 128, 1),    make_table(1543, 128, 1),    make_table(63, 128, 1),
       make_table(kLarge, 128, 7),  make_table(3067956, 128, 3), make_table(405282, 128, 8),
       make_table(10, 128, 1),      make_table(2209, 128, 6),    make_table(11938, 128, 9),
       make_table(155, 128, 5),     make_table(4, 128, 1),       make_table(976, 128, 1),
       make_table(14, 128, 1),      make_table(kLarge, 128, 12), make_table(kLarge, 128, 100),
       make_table(kLarge, 128, 27), make_table(590152, 128, 10), make_table(12973, 128, 3),
       make_table(108, 128, 1),     make_table(36, 128, 1)},
      55296};
  for (Table& table : workload.tables) table.optimizer = Optimizer::kAdagrad;
  return workload;
}

Result<search::SearchResult> ruled(const Workload& workload, std::int32_t devices,
                                   const SearchOptions& options,
                                   std::int64_t memory = 60'000'000'000) {
  test::TableEvaluator evaluator(workload, devices,
                                 std::vector<float>(workload.tables.size(), 1.0F));
  const Cluster cluster = make_cluster(devices, memory);
  return search::shard_hugectr({workload, cluster}, evaluator, options);
}

/// Of each group of `each` devices, in order, the tables that its first device has rows of and
/// not all devices: "20 21".
std::vector<std::string> tables_of_groups(const Plan& plan, std::int32_t each) {
  std::vector<std::vector<std::int32_t>> tables(static_cast<std::size_t>(plan.devices / each));
  for (const Shard& shard : plan.shards) {
    if (shard.device == kEveryDevice || shard.device % each != 0) continue;
    tables[static_cast<std::size_t>(shard.device / each)].push_back(shard.table);
  }
  std::vector<std::string> words;
  for (std::vector<std::int32_t>& own : tables) {
    std::sort(own.begin(), own.end());
    std::string word;
    for (const std::int32_t table : own) word += (word.empty() ? "" : " ") + std::to_string(table);
    words.push_back(word);
  }
  std::sort(words.begin(), words.end());
  return words;
}

std::vector<std::int32_t> replicas_of(const Plan& plan) {
  std::vector<std::int32_t> tables;
  for (const Shard& shard : plan.shards) {
    if (shard.device == kEveryDevice) tables.push_back(shard.table);
  }
  return tables;
}

using Words = std::vector<std::string>;
using Tables = std::vector<std::int32_t>;

}  // namespace

BOOST_AUTO_TEST_SUITE(hugectr)

BOOST_AUTO_TEST_CASE(the_largest_part_is_halved_while_that_is_cheaper) {
  const std::vector<RuledTable> tables{{8, 1, 1}, {2, 1, 1}};
  // Whole: 8 + 1 and 2 + 1. Halved: 4 + 1 + 2 + 1 and 4 + 1. All over all: 5 + 2.
  BOOST_TEST((hugectr_rule(tables, {2, 10}, 1) == RuledPlan{{0, 1}, {0, 1}}));
  // Columns that cost 3: 11 and 5; 12 and 7; 11. The first of equals is all over all.
  BOOST_TEST((hugectr_rule(tables, {2, 10}, 3) == RuledPlan{{0, 1}, {0, 1}}));
  BOOST_TEST((hugectr_rule(tables, {2, 10}, 4) == RuledPlan{{0}, {1}}));
  BOOST_TEST((hugectr_rule({}, {2, 10}, 1) == RuledPlan{}));
}

BOOST_AUTO_TEST_CASE(a_part_that_fits_nowhere_is_halved_and_no_room_for_all_over_all_is_no_plan) {
  const std::vector<RuledTable> tables{{4, 1, 12}, {1, 1, 4}, {1, 1, 4}};
  // 12 bytes in 10: halves of the first, then one of the others beside each.
  const auto plan = hugectr_rule(tables, {2, 10}, 9);
  BOOST_TEST((plan == RuledPlan{{0, 1}, {0}, {1}}));
  BOOST_TEST(!hugectr_rule(tables, {2, 7}, 9).has_value());
}

BOOST_AUTO_TEST_CASE(devices_of_one_host_are_those_of_the_original) {
  const Workload workload = dcnv2();
  SearchOptions options{.row_splits = RowSplits::kAny, .replicate = true};
  const auto small = ruled(workload, 8, options);
  BOOST_REQUIRE(small.ok());
  BOOST_TEST(tables_of_groups(small->plan, 1) == (Words{"0 11 20", "1 14 20", "19 20", "2 20 22",
                                                        "20 21", "20 21", "4 20 23", "9 10 20"}),
             boost::test_tools::per_element());
  BOOST_TEST(replicas_of(small->plan) == (Tables{3, 5, 6, 7, 8, 12, 13, 15, 16, 17, 18, 24, 25}),
             boost::test_tools::per_element());
  options.replicate = false;
  BOOST_TEST(tables_of_groups(ruled(workload, 4, options)->plan, 1) ==
                 (Words{"0 1 3 4 6 11 16 21 23", "0 2 8 9 18 20", "0 5 9 12 20 24",
                        "0 7 10 13 14 15 17 19 22 25"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(hosts_share_what_they_get_with_all_their_devices) {
  const Workload workload = dcnv2();
  const auto found = ruled(
      workload, 64, {.row_splits = RowSplits::kAny, .devices_per_host = 8, .replicate = true});
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(tables_of_groups(found->plan, 8) ==
                 (Words{"0 20", "1 20", "10 20", "19 23", "2 20", "21", "4 22", "9 11"}),
             boost::test_tools::per_element());
  BOOST_TEST(replicas_of(found->plan).size() == 14U);
  std::vector<std::int64_t> blocks;
  for (const Shard& shard : found->plan.shards) {
    if (shard.table == 20) blocks.push_back(shard.rows());
  }
  BOOST_TEST(blocks == std::vector<std::int64_t>(32, 1'250'000), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_given_ratio_counts_columns_by_it) {
  const Workload workload = dcnv2();
  SearchOptions options{.row_splits = RowSplits::kAny, .replicate = true};
  const Plan usual = ruled(workload, 8, options)->plan;
  options.memory_network_ratio = 7;
  BOOST_TEST((ruled(workload, 8, options)->plan == usual));
  options.memory_network_ratio = 1;
  const Plan cheap_columns = ruled(workload, 8, options)->plan;
  BOOST_TEST(cheap_columns.shards.size() > usual.shards.size());
}

BOOST_AUTO_TEST_CASE(tables_are_whole_where_costs_of_rows_are_not_known) {
  Workload workload = dcnv2();
  const auto found = ruled(workload, 8, {.row_splits = RowSplits::kEven, .devices_per_host = 4});
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(found->plan.shards.size() == workload.tables.size());
  workload.tables[20].rows *= 2;
  const auto full = ruled(workload, 8, {.row_splits = RowSplits::kOff});
  BOOST_TEST((full.status().code() == StatusCode::kInfeasible));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_told) {
  const Workload workload = dcnv2();
  const SearchOptions options{.row_splits = RowSplits::kAny};
  const auto full = ruled(workload, 8, options, std::int64_t{20} << 30);
  BOOST_TEST((full.status().code() == StatusCode::kInfeasible));
  BOOST_TEST(full.status().message().find("26 tables need") != std::string::npos,
             full.status().message());
  Workload no_rows = workload;
  no_rows.tables[20].sharding.rows = false;
  const auto refused = ruled(no_rows, 8, options);
  BOOST_TEST((refused.status().code() == StatusCode::kInvalidInput));
  BOOST_TEST(refused.status().message().find("as hugectr places it") != std::string::npos,
             refused.status().message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
