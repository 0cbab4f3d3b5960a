// --exchange: every command that costs plans takes it, and plans carry it on.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

BOOST_AUTO_TEST_SUITE(exchange)

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

const std::string kTables = source_file("examples/dlrm_dcnv2.json");

using Arguments = std::vector<std::string>;

Outcome with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

Arguments plan_arguments() {
  return {"plan", "--tables",      kTables, "--devices", "16", "--device-memory",
          "80GB", "--evaluations", "500"};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_plan_remembers_its_format) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plan.json");
  const Outcome made =
      with(plan_arguments(), {"--exchange", "int8,bf16", "--target", "torchrec", "--output", file});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  BOOST_TEST(made.out.find("exchange int8 forward, bf16 backward: lower precision changes") !=
                 std::string::npos,
             made.out);
  const boost::json::object plan = parsed(slurp(file));
  BOOST_TEST(plan.at("exchange").at("forward").as_string() == "int8");
  BOOST_TEST(plan.at("exchange").at("backward").as_string() == "bf16");
  const double cost = plan.at("cost_ms").as_double();

  const Arguments read{"--tables", kTables, "--plan", file};
  const boost::json::object same = parsed(with({"simulate", "--output", "-"}, read).out);
  BOOST_TEST(same.at("cost_ms").as_double() == cost);
  BOOST_TEST((same.at("exchange") == plan.at("exchange")));
  const Outcome exact = with({"simulate", "--output", "-", "--exchange", "fp32"}, read);
  BOOST_TEST(!parsed(exact.out).contains("exchange"));
  BOOST_TEST(parsed(exact.out).at("cost_ms").as_double() > cost);
  BOOST_TEST(exact.err.find("was made for exchanges in int8,bf16, --exchange says fp32") !=
                 std::string::npos,
             exact.err);
  const Outcome explained = with({"explain", "--most", "2"}, read);
  BOOST_TEST(explained.out.find("exchange int8 forward, bf16 backward") != std::string::npos,
             explained.out + explained.err);
  const Outcome checked = with({"check", "--device-memory", "80GB"}, read);
  BOOST_TEST(checked.exit_code == 0, checked.err);
  const Outcome lists = with({"check", "--device-memory", "80GB", "--target", "hugectr"}, read);
  BOOST_TEST(lists.exit_code == 2);
  BOOST_TEST(lists.out.find("exchange: found int8,bf16, expected fp32") != std::string::npos,
             lists.out + lists.err);

  const std::string next = folder.file("next.json");
  const Outcome replanned =
      with({"replan", "--move-limit", "1GB", "--evaluations", "200", "--output", next}, read);
  BOOST_REQUIRE_MESSAGE(replanned.exit_code == 0, replanned.err);
  BOOST_TEST((parsed(slurp(next)).at("exchange") == plan.at("exchange")));

  const std::string torchrec = folder.file("torchrec.json");
  BOOST_TEST(with({"export", "--format", "torchrec", "--output", torchrec}, read).exit_code == 0);
  BOOST_TEST((parsed(slurp(torchrec)).at("neuroshard").at("exchange") == plan.at("exchange")));
  const std::string page = folder.file("plan.html");
  BOOST_TEST(with({"export", "--format", "html", "--output", page}, read).exit_code == 0);
  BOOST_TEST(slurp(page).find("exchanges in int8, backward bf16") != std::string::npos);

  const Outcome measured = with(
      {"measure", "--backend", "sim", "--profile", "H200-141G+cluster", "--output", "-"}, read);
  BOOST_REQUIRE_MESSAGE(measured.exit_code == 0, measured.err);
  BOOST_TEST((parsed(measured.out).at("exchange") == plan.at("exchange")));
}

BOOST_AUTO_TEST_CASE(searches_of_many_plans_take_it) {
  const TemporaryFolder folder;
  const std::string pool = folder.file("pool.json");
  BOOST_REQUIRE(
      run_command({"tables", "generate", "--count", "100", "--seed", "1", "--output", pool})
          .exit_code == 0);
  for (const std::string format : {"fp16", "auto"}) {
    const boost::json::object swept =
        parsed(run_command({"sweep", "--tables", kTables, "--devices", "8,16", "--device-memory",
                            "80GB", "--evaluations", "300", "--exchange", format, "--output", "-"})
                   .out);
    const boost::json::array& clusters = swept.at("clusters").as_array();
    BOOST_TEST(clusters.at(1).as_object().contains("exchange"));
    const boost::json::object compared = parsed(
        run_command({"compare", "--tables", pool, "--tasks", source_file("examples/tasks.txt"),
                     "--devices", "16", "--device-memory", "40GB", "--algorithms", "dim-greedy",
                     "--exchange", format, "--output", "-"})
            .out);
    BOOST_TEST(compared.at("tasks").as_array().at(0).as_object().contains("exchange"));
    const boost::json::object frontier =
        parsed(run_command({"frontier", "--tables", kTables, "--devices", "16", "--evaluations",
                            "200", "--exchange", format, "--output", "-"})
                   .out);
    const boost::json::value& point = frontier.at("points").as_array().at(0);
    BOOST_TEST(point.at("plan").as_object().contains("exchange"));
  }
}

BOOST_AUTO_TEST_CASE(plans_for_a_trainer_without_a_place_for_it_have_fp32) {
  const TemporaryFolder folder;
  const std::string pool = folder.file("pool.json");
  BOOST_REQUIRE(
      run_command({"tables", "generate", "--count", "100", "--seed", "1", "--output", pool})
          .exit_code == 0);
  const std::vector<std::vector<std::string>> commands{
      {"sweep", "--tables", kTables, "--devices", "8,16", "--device-memory", "80GB"},
      {"frontier", "--tables", kTables, "--devices", "8,16"},
      {"compare", "--tables", pool, "--tasks", source_file("examples/tasks.txt"), "--devices", "16",
       "--device-memory", "40GB"}};
  for (const std::vector<std::string>& command : commands) {
    const auto asked = [&](const std::string& format) {
      return with(command, {"--target", "hugectr", "--evaluations", "300", "--exchange", format,
                            "--output", folder.file("out.json")});
    };
    expect_one_line(asked("fp16"), 2, "exchange: found fp16, expected fp32: HugeCTR's lists");
    BOOST_TEST(!std::filesystem::exists(folder.file("out.json")));
    const Outcome cheapest = asked("auto");
    BOOST_TEST(cheapest.exit_code == 0, cheapest.err);
    BOOST_TEST(
        cheapest.err.find("--exchange: fp32, hugectr has no place for others") != std::string::npos,
        cheapest.err);
    std::filesystem::remove(folder.file("out.json"));
  }
}

BOOST_AUTO_TEST_CASE(auto_is_never_dearer_than_fp32) {
  const boost::json::object exact = parsed(with(plan_arguments(), {"--output", "-"}).out);
  const boost::json::object cheapest =
      parsed(with(plan_arguments(), {"--exchange", "auto", "--output", "-"}).out);
  BOOST_TEST(!exact.contains("exchange"));
  BOOST_TEST(cheapest.contains("exchange"));
  BOOST_TEST(cheapest.at("cost_ms").as_double() < exact.at("cost_ms").as_double());
}

BOOST_AUTO_TEST_CASE(what_it_does_not_mean_is_told_in_a_line) {
  for (const std::string bad : {"fp4", "fp16,", "auto,fp16", "fp16,bf16,fp8"}) {
    const Outcome outcome = with(plan_arguments(), {"--exchange", bad});
    expect_one_line(outcome, 2, "--exchange: found '" + bad + "', expected FORMAT");
  }
  const Outcome lists = with(
      plan_arguments(), {"--exchange", "fp16", "--format", "hugectr", "--output", "/dev/null"});
  BOOST_TEST(lists.exit_code == 2);
  BOOST_TEST(lists.err.find("HugeCTR's lists have no place for it") != std::string::npos,
             lists.err);
}

BOOST_AUTO_TEST_SUITE_END()
