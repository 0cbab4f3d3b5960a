// Which tables those are that a plan has: of one name, renamed, dropped, new.
#include "io/plans/table_numbers.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "io/plans/plan_import.h"
#include "tests/io/trainer_plans.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(table_numbers)

namespace {

using test::changed;
using test::check_refused;
using test::document_of;
using test::kTorchRec;
using test::parse_plan;
using test::three_tables;
using test::value_of;

/// Tables 0 to 2 on devices 1, 0 and 1, by the names of three_tables() as they are now.
std::string native_plan(const std::string& names) {
  return R"({"format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 1024,)" +
         names + R"( "shards": [
      {"table": 0, "rows": [0, 10], "columns": [0, 8], "device": 1},
      {"table": 1, "rows": [0, 6], "columns": [0, 4], "device": 0},
      {"table": 2, "rows": [0, 12], "columns": [0, 16], "device": 1}]})";
}

BOOST_AUTO_TEST_CASE(a_plan_of_ours_goes_by_the_names_of_its_tables) {
  const Workload now = three_tables();  // user, ad, item
  const auto plan_for = [&](const Workload& workload, const std::string& names,
                            PlanAge age = PlanAge::kOfTheseTables) {
    return bind_plan(value_of(parse_plan(native_plan(names))), workload, 0, age);
  };
  const std::string names = R"("table_names": ["user", "ad", "item"],)";
  const BoundPlan same = value_of(plan_for(now, names));
  BOOST_TEST((same.document.plan == value_of(plan_for(now, "")).document.plan));
  BOOST_TEST(same.notes.empty());
  // In another order, and with a new table between them.
  Workload other{{now.tables[2], now.tables[0], now.tables[1]}, 1024};
  BoundPlan moved = value_of(plan_for(other, names));
  canonicalize(moved.document.plan);
  BOOST_TEST(
      (moved.document.plan ==
       document_of(2, {{0, 0, 12, 0, 16, 1}, {1, 0, 10, 0, 8, 1}, {2, 0, 6, 0, 4, 0}}).plan));
  other.tables.insert(other.tables.begin() + 1, test::table_of("new", 5, 4));
  BoundPlan grown = value_of(plan_for(other, names, PlanAge::kOlder));
  canonicalize(grown.document.plan);
  BOOST_TEST(
      (grown.document.plan ==
       document_of(2, {{0, 0, 12, 0, 16, 1}, {2, 0, 10, 0, 8, 1}, {3, 0, 6, 0, 4, 0}}).plan));
  // Renamed tables, all others at their places: they count in their order.
  const BoundPlan renamed = value_of(plan_for(now, R"("table_names": ["person", "ad", "item"],)"));
  BOOST_TEST((renamed.document.plan == same.document.plan));
  BOOST_REQUIRE(renamed.notes.size() == 1U);
  BOOST_TEST(renamed.notes[0].find("has a table 'person', which is not among the tables given") !=
                 std::string::npos,
             renamed.notes[0]);
}

BOOST_AUTO_TEST_CASE(tables_that_are_gone_are_dropped_from_older_plans_alone) {
  const Workload all = three_tables();
  const Workload now{{all.tables[2], test::table_of("new", 5, 4), all.tables[0]}, 1024};
  const Plan left = document_of(2, {{0, 0, 12, 0, 16, 1}, {2, 0, 10, 0, 8, 1}}).plan;
  const Plan in_columns =
      document_of(2, {{0, 0, 12, 0, 4, 0}, {0, 0, 12, 4, 16, 1}, {2, 0, 10, 0, 8, 1}}).plan;
  const Workload others{{test::table_of("x", 10, 8), test::table_of("y", 6, 4)}, 1024};
  const std::vector<std::string> names{"item", "new", "user"};
  const std::string native = native_plan(R"("table_names": ["user", "ad", "item"],)");
  for (const std::string& text : {native, std::string(kTorchRec)}) {
    const PlanInput input = value_of(parse_plan(text));
    BoundPlan older = value_of(bind_plan(input, now, 2, PlanAge::kOlder));
    canonicalize(older.document.plan);
    BOOST_TEST((older.document.plan == (text == native ? left : in_columns)));
    BOOST_TEST(older.document.setting.table_names == names, boost::test_tools::per_element());
    BOOST_REQUIRE(older.notes.size() == 2U);
    BOOST_TEST(older.notes[0] == "f: table 'ad' is not among the tables given: it is dropped");
    BOOST_TEST(older.notes[1] == "f: table 1 'new' is not in the plan: it is new");
    // Nothing else takes such a plan: ad's shards would be another table's.
    check_refused(bind_plan(input, now, 2).status(),
                  {"f: table 'ad' is not among the tables given"});
    check_refused(bind_plan(input, others, 2, PlanAge::kOlder).status(),
                  {"and 2 more are not among the tables given, and the plan has no others"});
  }
  // What a fault is called by is its place in the file.
  const std::string torn = changed(native, "[0, 16], \"device\": 1", "[0, 17], \"device\": 1");
  check_refused(bind_plan(value_of(parse_plan(torn)), now, 2, PlanAge::kOlder).status(),
                {"f: shards[2]: rows [0, 12) x columns [0, 17)"});
}

BOOST_AUTO_TEST_CASE(shards_without_a_name_pass_for_no_other_table) {
  const Workload all = three_tables();
  const Workload turned{{all.tables[1], all.tables[0], all.tables[2]}, 1024};
  check_refused(
      bind_plan(value_of(parse_plan(native_plan(R"("table_names": ["user", "ad"],)"))), turned, 2)
          .status(),
      {"f: table_names: found 2 names, expected one for each table that has shards"});
}

BOOST_AUTO_TEST_CASE(modules_go_with_their_tables) {
  const Workload all = three_tables();
  const Workload now{{all.tables[2], test::table_of("new", 5, 4), all.tables[0]}, 1024};
  PlanDocument document =
      document_of(2, {{0, 0, 10, 0, 8, 1}, {1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 16, 1}});
  document.setting.table_names = {"user", "ad", "item"};
  document.places.modules = {"a", "", "c"};
  const NumberedTables told = number_by_names(now, UnknownTables::kDropped, document);
  BOOST_TEST(told.faults.empty());
  const std::vector<std::size_t> kept{0, 2};
  BOOST_TEST(told.kept == kept, boost::test_tools::per_element());
  const std::vector<std::optional<std::string>> modules{"c", std::nullopt, "a"};
  BOOST_TEST((document.places.modules == modules));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
