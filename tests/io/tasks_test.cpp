#include "io/tables/tasks.h"

#include <boost/test/unit_test.hpp>

#include "support.h"
#include "tests/support/paths.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(tasks)

namespace {

using test::check_refused;
using test::value_of;

Result<std::vector<Task>> parse(std::string_view bytes) { return parse_tasks(bytes, "f"); }

TableFile pool_of(std::size_t tables) {
  TableFile pool;
  pool.has_dims = false;
  for (std::size_t index = 0; index < tables; ++index) {
    Table table;
    table.name = "table_" + std::to_string(index);
    table.rows = 100 + static_cast<std::int64_t>(index);
    table.pooling_factor = 1;
    pool.tables.push_back(table);
  }
  return pool;
}

BOOST_AUTO_TEST_CASE(lines_are_tasks) {
  const std::vector<Task> tasks = value_of(parse("3,1,3 4,128,8\n0 64\n"));
  BOOST_REQUIRE(tasks.size() == 2U);
  BOOST_TEST((tasks[0] == Task{{3, 1, 3}, {4, 128, 8}}));
  BOOST_TEST((tasks[1] == Task{{0}, {64}}));
  BOOST_TEST(format_tasks(tasks) == "3,1,3 4,128,8\n0 64\n");
  BOOST_TEST((value_of(parse(" 3,1,3 \t 4,128,8 \n0 64")) == tasks));
  BOOST_TEST((value_of(parse("3,1,3 4,128,8\r\n0 64\r\n")) == tasks));
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_is_skipped) {
  BOOST_TEST((value_of(parse("\xEF\xBB\xBF"
                             "1 4\n")) == value_of(parse("1 4\n"))));
}

BOOST_AUTO_TEST_CASE(a_bad_line_is_named_with_token_and_range) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "f:1: found an empty file"},
      {"\n", "f:1: found an empty line"},
      {"1 4\n\n2 4\n", "f:2: found an empty line"},
      {"1 4\r\n\r\n2 4\r\n", "f:2: found an empty line"},
      {"1 4\r5 4\n", "f:1: found '1 4\\x0d5 4', expected"},
      {"1 4\n2\n", "f:2: found '2', expected 'id,id,... dim,dim,...'"},
      {"1 4 5\n", "f:1: found '1 4 5', expected"},
      {"1,2 4\n", "f:1: found 2 table ids and 1 dims"},
      {"1,a 4,4\n", "f:1: table id: found 'a', expected an integer from 0 to 2147483647"},
      {"1,-2 4,4\n", "f:1: table id: found '-2'"},
      {"1,,2 4,4,4\n", "f:1: table id: found ''"},
      {"1, 4\n", "f:1: table id: found ''"},
      {",1 4,4\n", "f:1: table id: found ''"},
      {"1.0 4\n", "f:1: table id: found '1.0'"},
      {"+1 4\n", "f:1: table id: found '+1'"},
      {"0x1 4\n", "f:1: table id: found '0x1'"},
      {"2147483648 4\n", "f:1: table id: found '2147483648'"},
      {"99999999999999999999 4\n", "f:1: table id: found '99999999999999999999'"},
      {"1 0\n", "f:1: dim: found '0', expected an integer from 1 to 1048576"},
      {"1 1048577\n", "f:1: dim: found '1048577'"},
      {"1 nan\n", "f:1: dim: found 'nan'"},
      {"1 4\n\xFF 4\n", "f:2:1: found byte '\\xff'"},
      {std::string_view("1 4\0\n", 5), "f:1: dim: found '4\\x00'"},
      {"[1] [4]\n", "f:1: table id: found '[1]'"},
  };
  for (const auto& [text, message] : cases) check_refused(parse(text).status(), {message});
}

// A truncation inside a number leaves a smaller number: what cannot be noticed must not crash.
BOOST_AUTO_TEST_CASE(every_truncation_is_refused_or_a_prefix_of_the_tasks) {
  const std::string text = "12,345 16,128\n678 64\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string prefix = text.substr(0, size);
    const Result<std::vector<Task>> tasks = parse(prefix);
    if (tasks.ok()) {
      BOOST_TEST(((size >= 10 && size <= 14) || size >= 19));
    } else {
      check_refused(tasks.status(), {"f:"});
    }
  }
}

BOOST_AUTO_TEST_CASE(a_huge_line_is_read) {
  std::string ids = "0";
  std::string dims = "4";
  for (int table = 1; table < 200000; ++table) {
    ids += "," + std::to_string(table);
    dims += ",4";
  }
  BOOST_TEST(value_of(parse(ids + " " + dims)).front().tables.back() == 199999);
  check_refused(parse(ids).status(), {"f:1: found '0,1,2", "'..., expected"});
}

BOOST_AUTO_TEST_CASE(a_task_picks_tables_and_gives_them_dims) {
  const Workload workload = value_of(make_workload(pool_of(5), Task{{4, 0, 4}, {8, 16, 32}}));
  BOOST_REQUIRE(workload.tables.size() == 3U);
  BOOST_TEST(workload.batch_size == 65536);
  BOOST_TEST(workload.tables[0].name == "table_4");
  BOOST_TEST(workload.tables[0].rows == 104);
  BOOST_TEST(workload.tables[1].dim == 16);
  BOOST_TEST(workload.tables[2].dim == 32);
  TableFile pool = pool_of(5);
  pool.batch_size = 1024;
  BOOST_TEST(value_of(make_workload(pool, Task{{1}, {8}})).batch_size == 1024);
}

BOOST_AUTO_TEST_CASE(an_id_outside_the_pool_is_refused) {
  check_refused(make_workload(pool_of(5), Task{{0, 5}, {4, 4}}).status(),
                {"table id: found 5, expected 0 to 4"});
  check_refused(make_workload(pool_of(5), Task{{-1}, {4}}).status(), {"found -1"});
  TableFile pool = pool_of(1);
  pool.tables[0].rows = INT64_MAX / 4;
  check_refused(make_workload(pool, Task{{0}, {4}}).status(), {"tables[0]", "2^63"});
}

BOOST_AUTO_TEST_CASE(the_reference_tasks_are_read_and_fit_their_pool) {
  const std::optional<std::string> pool_path = test::data_file("tables/dlrm856_table_configs.json");
  for (const char* name : {"reference/tasks_4_devices.txt", "reference/tasks_8_devices.txt"}) {
    const std::optional<std::string> path = test::data_file(name);
    if (!path || !pool_path) {
      BOOST_TEST_MESSAGE("skipped: the data folder is not there");
      return;
    }
    const TableFile pool = value_of(read_tables(*pool_path));
    const std::vector<Task> tasks = value_of(read_tasks(*path));
    BOOST_TEST(tasks.size() > 10U);
    for (const Task& task : tasks) BOOST_TEST(make_workload(pool, task).ok());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
