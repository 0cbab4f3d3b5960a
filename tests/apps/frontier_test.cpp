// `neuroshard frontier`: plans that no other beats, the answers to three questions, and a page.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

namespace json = boost::json;
using neuroshard::test::expect_one_line;
using neuroshard::test::Keys;
using neuroshard::test::keys_of;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

const std::string kExample = source_file("examples/dlrm_dcnv2.json");

const std::string kFrontierEvaluations = neuroshard::test::unless_sanitized("1000", "200");

/// Of the example's 26 tables, 97.4 GiB; the same plans on every machine.
Outcome asked(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"frontier",     "--tables",      kExample,
                                     "--cost-model", "torchrec",      "--devices",
                                     "8,4",          "--evaluations", kFrontierEvaluations};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

json::array points_in(const std::string& text) { return parsed(text).at("points").as_array(); }

double cost_of(const json::value& point) { return point.at("cost_ms").to_number<double>(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(frontier)

BOOST_AUTO_TEST_CASE(points_are_whole_plans_that_cost_less_with_more) {
  const TemporaryFolder folder;
  const Outcome outcome = asked({"--output", "-"});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.empty(), outcome.err);
  const json::object file = parsed(outcome.out);
  BOOST_TEST((keys_of(file) == Keys{"format", "version", "points"}));
  BOOST_TEST(file.at("format").as_string() == "neuroshard-frontier");
  const json::array points = points_in(outcome.out);
  BOOST_TEST_REQUIRE(points.size() >= 2U);
  for (const json::value& point : points) {
    BOOST_TEST((keys_of(point) == Keys{"devices", "device_memory_bytes", "cost_ms", "plan"}));
    for (const json::value& other : points) {
      if (&other == &point || other.at("devices").as_int64() > point.at("devices").as_int64() ||
          other.at("device_memory_bytes").as_int64() > point.at("device_memory_bytes").as_int64()) {
        continue;
      }
      BOOST_TEST(cost_of(point) < cost_of(other));
    }
    // The plan is one that other commands take without being told anything again, fits in so much
    // memory and costs that.
    const std::string plan = folder.write("plan.json", json::serialize(point.at("plan")));
    const Outcome costed =
        run_command({"simulate", "--tables", kExample, "--plan", plan, "--output", "-"});
    BOOST_TEST_REQUIRE(costed.exit_code == 0, costed.err);
    BOOST_TEST(parsed(costed.out).at("device_memory_bytes") == point.at("device_memory_bytes"));
    BOOST_TEST(cost_of(parsed(costed.out)) == cost_of(point));
  }
  BOOST_TEST(asked({"--threads", "1", "--output", "-"}).out == outcome.out);
  // Hosts are as large as there are devices for them.
  for (const json::value& point :
       points_in(asked({"--devices-per-host", "8", "--output", "-"}).out)) {
    BOOST_TEST(point.at("plan").at("devices_per_host") == point.at("devices"));
  }
}

BOOST_AUTO_TEST_CASE(the_table_and_the_page_show_the_same_points) {
  const TemporaryFolder folder;
  const std::string page = folder.file("frontier.html");
  const Outcome shown = asked({"--format", "html", "--output", page});
  BOOST_TEST(shown.exit_code == 0, shown.err);
  for (const std::string words :
       {"26 tables, 97.4 GiB, batch 65,536\n", "cost model torchrec: SIMULATED hardware",
        "devices  memory each  cost ms  device ms  shards", "plans written to "}) {
    BOOST_TEST(shown.out.find(words) != std::string::npos, words << " in\n" << shown.out);
  }
  const std::string html = slurp(page);
  std::size_t dots = 0;
  for (std::size_t at = html.find("<circle"); at != std::string::npos;
       at = html.find("<circle", at + 1)) {
    ++dots;
  }
  BOOST_TEST(dots == points_in(asked({"--output", "-"}).out).size());
  for (const std::string words : {"<svg", "8 devices</text>", "SIMULATED", "</html>"}) {
    BOOST_TEST(html.find(words) != std::string::npos, words);
  }
  BOOST_TEST(html.find("<script") == std::string::npos);
  BOOST_TEST(html.find("nan") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_plan_answers_a_question) {
  const json::array all = points_in(asked({"--output", "-"}).out);
  const auto answer = [](const std::vector<std::string>& question) {
    std::vector<std::string> more = question;
    more.insert(more.end(), {"--output", "-"});
    const json::array points = points_in(asked(more).out);
    BOOST_TEST_REQUIRE(points.size() == 1U);
    return points[0];
  };
  BOOST_TEST(answer({"--least", "devices"}).at("devices").as_int64() == 4);
  const json::value& last = all.back();
  BOOST_TEST(cost_of(answer({"--least", "time"})) == cost_of(last));
  const json::value memory = answer({"--least", "memory", "--within", "1000ms,8"});
  for (const json::value& point : all) {
    BOOST_TEST(memory.at("device_memory_bytes").as_int64() <=
               point.at("device_memory_bytes").as_int64());
  }
  const std::string bytes = std::to_string(all.front().at("device_memory_bytes").as_int64());
  BOOST_TEST(answer({"--least", "time", "--within", "4," + bytes + "B"}) == all.front());
  expect_one_line(asked({"--least", "devices", "--within", "0.001ms"}), 3,
                  "no plan found within 0.001ms");
}

BOOST_AUTO_TEST_CASE(what_is_asked_wrongly_is_one_line) {
  expect_one_line(asked({"--within", "8"}), 2, "--within: found '8' without --least");
  for (const std::string limits :
       {",", "8,8", "2.5", "70000", "1ms,2ms", "-1ms", "0", "fast", "8,,1ms"}) {
    const Outcome outcome = asked({"--least", "time", "--within=" + limits});
    expect_one_line(outcome, 2, "--within: found '");
  }
  expect_one_line(asked({"--format", "html"}), 2, "--format: found 'html' without --output");
  expect_one_line(asked({"--device-memory", "5GB"}), 3, "26 tables need 97.4 GiB");
}

BOOST_AUTO_TEST_CASE(a_time_limit_holds_for_all_searches_together) {
  const TemporaryFolder folder;
  const std::string file = folder.file("frontier.json");
  const Outcome outcome = run_command({"frontier", "--tables", kExample, "--devices", "4,8,16",
                                       "--time-limit", "0.3", "--output", file});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.out.find("time ended searches") != std::string::npos, outcome.out);
  BOOST_TEST(points_in(slurp(file)).size() >= 1U);
}

/// On 6 and 7 devices, which no table's rows are a multiple of.
BOOST_AUTO_TEST_CASE(points_for_a_trainer_are_plans_that_it_runs) {
  const TemporaryFolder folder;
  for (const std::string target : {"hugectr", "torchrec"}) {
    const Outcome outcome =
        run_command({"frontier", "--tables", kExample, "--devices", "6,7", "--target", target,
                     "--evaluations", kFrontierEvaluations, "--output", "-"});
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    const json::array points = points_in(outcome.out);
    BOOST_TEST_REQUIRE(points.size() >= 4U);  // those of walks among them
    for (const json::value& point : points) {
      const std::string plan = folder.write("plan.json", json::serialize(point.at("plan")));
      const Outcome checked =
          run_command({"check", "--tables", kExample, "--plan", plan, "--target", target});
      BOOST_TEST(checked.exit_code == 0, checked.out + checked.err);
      const Outcome costed =
          run_command({"simulate", "--tables", kExample, "--plan", plan, "--output", "-"});
      BOOST_TEST(cost_of(parsed(costed.out)) == cost_of(point), boost::test_tools::tolerance(1e-9));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
