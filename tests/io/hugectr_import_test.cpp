// Lists of HugeCTR as plans: rows that it deals out, and what is wrong with them.
#include <boost/test/unit_test.hpp>

#include "io/plans/plan_import.h"
#include "tests/io/trainer_plans.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(hugectr_import)

namespace {

using test::changed;
using test::check_refused;
using test::document_of;
using test::faults_of;
using test::kHugeCtr;
using test::parse_plan;
using test::three_tables;
using test::value_of;

Result<BoundPlan> bound(std::string_view text, std::int32_t devices) {
  return bind_plan(value_of(parse_plan(text)), three_tables(), devices);
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
  BOOST_TEST(plan.notes == std::vector<std::string>{"table 'user' and 1 more: rows by key modulo "
                                                    "read as contiguous blocks of the same sizes"},
             boost::test_tools::per_element());
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

BOOST_AUTO_TEST_CASE(gpus_for_which_no_rows_are_left_have_no_shard) {
  HugeCtrTable table;
  table.gpus = {0, 1, 2, 3, 4, 5, 6, 7};
  table.column_factor = 2;
  const Table few = test::table_of("t", 3, 8);
  BOOST_TEST(hugectr_faults(table, few, 8).empty());
  const std::vector<Shard> shards = hugectr_shards(table, few, 0);
  const std::vector<Shard> expected{{0, 0, 1, 0, 4, 0}, {0, 1, 2, 0, 4, 1}, {0, 2, 3, 0, 4, 2},
                                    {0, 0, 1, 4, 8, 4}, {0, 1, 2, 4, 8, 5}, {0, 2, 3, 4, 8, 6}};
  BOOST_TEST((shards == expected));
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
    check_refused(parse_plan(changed(kHugeCtr, from, to)).status(), {"f: ", message});
  }
  check_refused(parse_plan(R"({"shard_matrix": [], "shard_strategy": []})").status(),
                {"$.shard_matrix: found 0 GPUs"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
