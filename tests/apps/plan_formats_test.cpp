// Plans in the formats of other trainers, out and in, through the real command.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/exported_plan.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

using neuroshard::test::example_tables;
using neuroshard::test::expect_one_line;
using neuroshard::test::export_as;
using neuroshard::test::Outcome;
using neuroshard::test::plan_in;
using neuroshard::test::run_command;
using neuroshard::test::simulated;
using neuroshard::test::slurp;
using neuroshard::test::TemporaryFolder;

/// From the table of devices to the plan's cost.
std::string costs_in(const std::string& report) {
  const std::size_t begin = report.find("\ndevice ");
  return report.substr(begin, report.find(" (", begin) - begin);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_formats)

BOOST_AUTO_TEST_CASE(foreign_plans_cost_what_the_plan_costs) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  const Outcome native = simulated(plan);
  BOOST_TEST(native.exit_code == 0);
  for (const std::string format : {"torchrec", "hugectr", "json"}) {
    const std::string file = folder.file(format + ".json");
    const Outcome exported = export_as(plan, {"--format", format, "--output", file});
    BOOST_TEST(exported.exit_code == 0);
    BOOST_TEST(exported.out.empty());
    BOOST_TEST(exported.err.empty());
    BOOST_TEST(simulated(file).out == native.out, format);
    const Outcome checked = run_command({"check", "--tables", example_tables(), "--plan", file,
                                         "--device-memory", "80GB", "--target", "torchrec"});
    BOOST_TEST(checked.exit_code == 0);
    BOOST_TEST(checked.out.find("no fault") != std::string::npos, checked.out);
  }
}

BOOST_AUTO_TEST_CASE(a_torchrec_plan_keeps_its_module_and_placements) {
  const TemporaryFolder folder;
  const std::string first = folder.file("torchrec.json");
  const Outcome made =
      export_as(plan_in(folder), {"--format", "torchrec", "--torchrec-module", "sparse.ebc",
                                  "--devices-per-host", "2", "--output", first});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  const Outcome again = export_as(first, {"--format", "torchrec"});
  BOOST_TEST(again.out == slurp(first));
  BOOST_TEST(again.err.empty());
  const Outcome moved = export_as(
      first, {"--format", "torchrec", "--torchrec-module", "m", "--trainer-device", "cpu"});
  BOOST_TEST(moved.out.find("\"m\": {") != std::string::npos);
  BOOST_TEST(moved.out.find("sparse") == std::string::npos);
  BOOST_TEST(moved.out.find("cuda") == std::string::npos);
  const Outcome native = export_as(first, {"--format", "json"});
  BOOST_TEST(native.exit_code == 0);
  BOOST_TEST(native.err.find("json has no place for its modules, they") != std::string::npos,
             native.err);
  std::string far = slurp(first);
  far.replace(far.find("/cuda:1"), 7, "/cuda:7");
  expect_one_line(export_as(folder.write("far.json", far), {"--format", "torchrec"}), 2,
                  "--devices-per-host");
  for (const std::string name : {"a..b", "a b"}) {
    expect_one_line(export_as(first, {"--format", "torchrec", "--torchrec-module", name}), 2,
                    "module: found '" + name + "'");
  }
}

BOOST_AUTO_TEST_CASE(plan_writes_every_format_that_export_does) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  for (const std::string format : {"torchrec", "hugectr", "hugectr-python", "csv", "json"}) {
    const Outcome direct = run_command({"plan", "--tables", example_tables(), "--devices", "8",
                                        "--device-memory", "80GB", "--algorithm",
                                        "size-lookup-greedy", "--format", format, "--output", "-"});
    BOOST_TEST(direct.exit_code == 0);
    BOOST_TEST(direct.out == export_as(plan, {"--format", format}).out, format);
  }
  const Outcome module = export_as(plan, {"--format", "torchrec", "--torchrec-module", "sparse.ebc",
                                          "--trainer-device", "cpu", "--devices-per-host", "4"});
  BOOST_TEST(module.out.find("\"sparse.ebc\": {") != std::string::npos);
  BOOST_TEST(module.out.find("/cpu\"") != std::string::npos);
  expect_one_line(export_as(plan, {"--format", "torchrec", "--devices-per-host", "3"}), 2,
                  "--devices-per-host: found 3, expected a divisor of 8 devices");
}

BOOST_AUTO_TEST_CASE(costs_are_those_of_the_plan_that_the_format_holds) {
  const TemporaryFolder folder;
  const auto planned = [&](const std::string& format) {
    const std::string file = folder.file(format);
    const Outcome made = run_command({"plan", "--tables", example_tables(), "--devices", "3",
                                      "--device-memory", "80GB", "--algorithm", "neuroshard",
                                      "--row-splits", "off", "--format", format, "--output", file});
    BOOST_TEST(made.exit_code == 0, made.err);
    return costs_in(made.out);
  };
  // The paper's search knows nothing of equal columns, and those here happen to be.
  const std::string native = planned("json");
  const std::string written = planned("hugectr");
  BOOST_TEST(written != native);  // a table's blocks on one device have become one
  BOOST_TEST(written == costs_in(simulated(folder.file("hugectr")).out));
  const Outcome exported = export_as(folder.file("json"), {"--format", "hugectr"});
  BOOST_TEST(exported.out == slurp(folder.file("hugectr")));
  BOOST_TEST(exported.err.find("hugectr has blocks of a table that are on one device joined") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_tables_say_which_module_they_are_in) {
  const TemporaryFolder folder;
  const std::string text = R"({"batch_size": 4096, "tables": [
    {"name": "user", "num_embeddings": 100, "embedding_dim": 8, "pooling_factors": [2],
     "module": "towers.user.bags"},
    {"name": "item", "num_embeddings": 90, "embedding_dim": 8, "pooling_factors": [3],
     "module": "towers.item.bags"}]})";
  const std::string tables = folder.write("tables.json", text);
  const auto planned = [&](const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> arguments{"plan", "--tables",    file,          "--devices",
                                       "2",    "--algorithm", "size-greedy", "--device-memory",
                                       "1GB",  "--format",    "torchrec",    "--output",
                                       "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  const Outcome both = planned(tables, {});
  BOOST_REQUIRE_MESSAGE(both.exit_code == 0, both.err);
  BOOST_TEST(both.out.find("\"towers.user.bags\": {\n      \"user\": {") != std::string::npos);
  BOOST_TEST(both.out.find("\"towers.item.bags\": {\n      \"item\": {") != std::string::npos);
  // The way over a plan of ours, with the tables beside it.
  const std::string native = folder.file("native.json");
  BOOST_TEST(run_command({"plan", "--tables", tables, "--devices", "2", "--device-memory", "1GB",
                          "--algorithm", "size-greedy", "--output", native})
                 .exit_code == 0);
  BOOST_TEST(
      run_command({"export", "--tables", tables, "--plan", native, "--format", "torchrec"}).out ==
      both.out);
  const std::string torchrec = folder.write("torchrec.json", both.out);
  const Outcome checked = run_command({"check", "--tables", tables, "--plan", torchrec});
  BOOST_TEST(checked.exit_code == 0);
  const Outcome one = planned(tables, {"--torchrec-module", "all"});
  BOOST_TEST(one.out.find("\"all\": {") != std::string::npos);
  BOOST_TEST(one.out.find("towers") == std::string::npos);
  const std::string first = ",\n     \"module\": \"towers.user.bags\"";
  std::string half = text;
  half.erase(half.find(first), first.size());
  expect_one_line(planned(folder.write("half.json", half), {}), 2,
                  "table 0 'user': found no module, expected one as for the other tables");
}

BOOST_AUTO_TEST_CASE(data_parallel_tables_are_planned_when_asked_for) {
  const TemporaryFolder folder;
  const std::string file = folder.file("torchrec.json");
  const auto planned = [&](const std::string& data_parallel) {
    return run_command({"plan", "--tables", example_tables(), "--devices", "16", "--device-memory",
                        "80GB", "--cost-model", "torchrec", "--evaluations", "1000",
                        "--data-parallel", data_parallel, "--format", "torchrec", "--output",
                        file});
  };
  BOOST_TEST(planned("off").exit_code == 0);
  BOOST_TEST(slurp(file).find("data_parallel") == std::string::npos);
  const Outcome made = planned("on");
  BOOST_TEST(made.exit_code == 0);
  BOOST_TEST(made.out.find("data-parallel ones") != std::string::npos, made.out);  // of the bound
  BOOST_TEST(slurp(file).find("data_parallel") != std::string::npos);
  const Outcome checked =
      run_command({"check", "--tables", example_tables(), "--plan", file, "--target", "torchrec"});
  BOOST_TEST(checked.out.find("no fault") != std::string::npos, checked.out);
  const Outcome costed = run_command({"simulate", "--tables", example_tables(), "--plan", file,
                                      "--device-memory", "80GB", "--cost-model", "torchrec"});
  const auto cost_in = [](const std::string& text) {
    const std::size_t begin = text.find("plan cost ");
    return text.substr(begin, text.find(" ms", begin) - begin);
  };
  BOOST_TEST(cost_in(costed.out) == cost_in(made.out));
}

BOOST_AUTO_TEST_SUITE_END()
