// Plans that run, of tables of which some are gone and others new, through the real command.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/plans/plan_file.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::TemporaryFolder;

/// Tables of one shape.
std::string like_tables(const std::vector<std::string>& names) {
  std::string text = R"({"format": "neuroshard-tables", "version": 1, "tables": [)";
  for (const std::string& name : names) {
    text += (name == names.front() ? "" : ", ") + ("{\"name\": \"" + name) +
            R"(", "rows": 1000, "dim": 64, "pooling_factor": 9})";
  }
  return text + "]}";
}

/// A plan of four of those that leaves nothing to be gained: one each on as many devices.
std::string plan_of_four(const TemporaryFolder& folder, const std::string& names) {
  std::string text = R"({"format": "neuroshard-plan", "version": 1, "devices": 4,
      "batch_size": 65536, )" +
                     names + "\"shards\": [";
  for (const std::string table : {"0", "1", "2", "3"}) {
    text += (table == "0" ? "{\"table\": " : ", {\"table\": ") + table +
            R"(, "rows": [0, 1000], "columns": [0, 64], "device": )" + table + "}";
  }
  return folder.write("four.json", text + "]}");
}

std::vector<neuroshard::Shard> shards_of(const std::string& path) {
  const auto document = neuroshard::io::parse_plan(slurp(path), path);
  BOOST_TEST_REQUIRE(document.ok());
  return document->plan.shards;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(replanned_tables)

BOOST_AUTO_TEST_CASE(tables_are_those_of_their_names_whatever_came_and_went) {
  const TemporaryFolder folder;
  const std::string names = R"("table_names": ["a", "b", "c", "d"], )";
  const std::string now = plan_of_four(folder, names);
  const std::string next = folder.file("next.json");
  const auto replan = [&](const std::vector<std::string>& tables) {
    return run_command({"replan", "--tables", folder.write("tables.json", like_tables(tables)),
                        "--plan", now, "--device-memory", "1GB", "--move-limit", "1B",
                        "--evaluations", "500", "--output", next});
  };
  const auto devices = [&] {
    std::map<std::int32_t, std::int32_t> found;
    for (const neuroshard::Shard& shard : shards_of(next)) found[shard.table] = shard.device;
    return found;
  };
  const Outcome changed = replan({"b", "c", "d", "e"});
  BOOST_TEST(changed.exit_code == 0);
  BOOST_TEST(changed.err == now + ": table 'a' is not among the tables given: it is dropped\n" +
                                now + ": table 3 'e' is not in the plan: it is new\n");
  BOOST_TEST(changed.out.find("moves 0 B of ") != std::string::npos, changed.out);
  BOOST_TEST((devices() == std::map<std::int32_t, std::int32_t>{{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
  const Outcome fewer = replan({"d", "b"});
  expect_one_line({fewer.exit_code, {}, fewer.err}, 0,
                  "table 'a' and 1 more are not among the tables given: they are dropped");
  BOOST_TEST((devices() == std::map<std::int32_t, std::int32_t>{{0, 3}, {1, 1}}));
  expect_one_line(
      replan({"e", "f", "g", "h"}), 2,
      "table 'a' and 3 more are not among the tables given, and the plan has no others");
  // Commands that change nothing take no table for another, either.
  const std::string other = folder.write("tables.json", like_tables({"b", "c", "d", "e"}));
  expect_one_line(
      run_command({"simulate", "--tables", other, "--plan", now, "--device-memory", "1GB"}), 2,
      "table 'a' is not among the tables given");
  plan_of_four(folder, "");
  const Outcome by_order = replan({"e", "f", "g", "h"});
  BOOST_TEST(by_order.exit_code == 0);
  BOOST_TEST(by_order.err.empty(), by_order.err);
}

BOOST_AUTO_TEST_SUITE_END()
