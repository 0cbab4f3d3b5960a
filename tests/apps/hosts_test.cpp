// Plans for several hosts under TorchRec's formula, which alone goes by them: from the search to
// the trainer's file and back.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

const std::string kHostTables = source_file("examples/dlrm_dcnv2.json");

const std::string kHostEvaluations = neuroshard::test::unless_sanitized("2000", "300");

Outcome planned_on_hosts(std::vector<std::string> more, const std::string& devices = "64") {
  std::vector<std::string> arguments{
      "plan",           "--tables",     kHostTables, "--devices", devices,    "--device-memory",
      "80GB",           "--cost-model", "torchrec",  "--format",  "torchrec", "--evaluations",
      kHostEvaluations, "--output"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

Outcome simulated_on_hosts(const std::string& plan, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"simulate",        "--tables", kHostTables,    "--plan",  plan,
                                     "--device-memory", "80GB",     "--cost-model", "torchrec"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

/// "4.321" of "plan cost 4.321 ms".
std::string cost_in(const std::string& text) {
  const std::size_t begin = text.find("plan cost ") + 10;
  return text.substr(begin, text.find(" ms", begin) - begin);
}

std::set<std::string> sharding_types(const std::string& plan) {
  const boost::json::value document = boost::json::parse(slurp(plan));
  std::set<std::string> types;
  for (const auto& [module, tables] : document.at("plan").as_object()) {
    for (const auto& [name, table] : tables.as_object()) {
      types.emplace(table.at("sharding_type").as_string());
    }
  }
  return types;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hosts)

BOOST_AUTO_TEST_CASE(a_plan_over_hosts_costs_the_same_in_torchrecs_file) {
  const TemporaryFolder folder;
  const std::string file = folder.file("torchrec.json");
  const Outcome made = planned_on_hosts({file});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  BOOST_TEST(made.err == "64 devices are taken for hosts of 8: --devices-per-host says others\n");
  const std::set<std::string> types = sharding_types(file);
  BOOST_TEST(types.contains("table_row_wise") + types.contains("grid_shard") > 0);
  BOOST_TEST(cost_in(simulated_on_hosts(file).out) == cost_in(made.out));
  const Outcome checked =
      run_command({"check", "--tables", kHostTables, "--plan", file, "--target", "torchrec"});
  BOOST_TEST(checked.out.find("no fault") != std::string::npos, checked.out);
  expect_one_line(simulated_on_hosts(file, {"--devices-per-host", "16"}), 2,
                  "over the 16 devices of a host");
  expect_one_line(simulated_on_hosts(file, {"--devices-per-host", "5"}), 2,
                  "expected a divisor of 64");

  // Ours holds the hosts, too: TorchRec's file of it is the same again.
  const std::string native = folder.file("native.json");
  const std::vector<std::string> exported{"export",   "--tables", kHostTables, "--plan", file,
                                          "--format", "json",     "--output",  native};
  BOOST_TEST(run_command(exported).exit_code == 0);
  BOOST_TEST(cost_in(simulated_on_hosts(native).out) == cost_in(made.out));
  std::vector<std::string> back{"export", "--tables", kHostTables, "--plan",
                                native,   "--format", "torchrec"};
  BOOST_TEST(run_command(back).out == slurp(file));
  BOOST_TEST(run_command(back).err.empty());
  back.insert(back.end(), {"--devices-per-host", "16"});
  expect_one_line(run_command(back), 2, "on hosts of 16 devices");
  back.back() = "8";
  BOOST_TEST(run_command(back).out == slurp(file));
  BOOST_TEST(run_command(back).err.empty());
}

BOOST_AUTO_TEST_CASE(devices_that_fill_no_hosts_are_one_host_everywhere) {
  const TemporaryFolder folder;
  const std::string file = folder.file("twelve.json");
  const Outcome made = planned_on_hosts({file}, "12");
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  BOOST_TEST(cost_in(simulated_on_hosts(file).out) == cost_in(made.out));
  BOOST_TEST(cost_in(simulated_on_hosts(file, {"--devices-per-host", "12"}).out) ==
             cost_in(made.out));
}

BOOST_AUTO_TEST_CASE(nothing_goes_over_hosts_of_one_device) {
  const TemporaryFolder folder;
  const std::string file = folder.file("eight.json");
  BOOST_TEST(planned_on_hosts({file}).exit_code == 0);
  expect_one_line(
      simulated_on_hosts(file, {"--devices-per-host", "1"}), 2,
      "over all devices in order: the cost model torchrec knows no other parts of rows");
  const Outcome made = planned_on_hosts({folder.file("one.json"), "--devices-per-host", "1"});
  BOOST_TEST(made.out.find("row-wise ones with rows for every device") != std::string::npos,
             made.out);
}

BOOST_AUTO_TEST_CASE(hosts_are_as_large_as_the_flag_says) {
  const TemporaryFolder folder;
  const std::string eight = folder.file("8.json");
  const std::string four = folder.file("4.json");
  const Outcome of_eight = planned_on_hosts({eight});
  const Outcome of_four = planned_on_hosts({four, "--devices-per-host", "4"});
  BOOST_REQUIRE_MESSAGE(of_four.exit_code == 0, of_four.err);
  BOOST_TEST(slurp(four).find("rank:7/cuda:3") != std::string::npos);
  BOOST_TEST(slurp(eight).find("rank:7/cuda:7") != std::string::npos);
  BOOST_TEST(cost_in(of_four.out) != cost_in(of_eight.out));
  BOOST_TEST(cost_in(simulated_on_hosts(four).out) ==
             cost_in(of_four.out));  // the file tells the hosts
  expect_one_line(planned_on_hosts({four, "--devices-per-host", "3"}), 2,
                  "expected a divisor of 64");
  const Outcome other =
      run_command({"simulate", "--tables", kHostTables, "--plan", four, "--device-memory", "80GB",
                   "--devices-per-host", "4", "--cost-model", "h200_sim"});
  BOOST_TEST(other.err.find(
                 "--devices-per-host: changes nothing, h200_sim has the hosts it was trained on") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(torchrecs_bandwidths_are_those_the_flag_says) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plan.json");
  const std::string hashed = folder.file("native.json");
  const std::vector<std::string> fast{"--bandwidths", "3000,450,50"};
  const Outcome usual = planned_on_hosts({file});
  const Outcome said = planned_on_hosts({file, "--bandwidths", "897,600,12.5"});
  BOOST_TEST(cost_in(said.out) == cost_in(usual.out));
  const Outcome made = planned_on_hosts({file, fast[0], fast[1]});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  BOOST_TEST(made.err == usual.err);
  BOOST_TEST(std::stod(cost_in(made.out)) < 0.5 * std::stod(cost_in(usual.out)));
  const Outcome simulated = simulated_on_hosts(file, {fast[0], fast[1], "--output", hashed});
  BOOST_TEST(cost_in(simulated.out) == cost_in(made.out));
  BOOST_TEST(slurp(hashed).find("estimator with 3000, 450 and 50 GB/s") != std::string::npos);
  BOOST_TEST(cost_in(simulated_on_hosts(file).out) == cost_in(made.out));  // the file has them

  // Host memory has a name, and no part in what plans without tables there cost.
  const Outcome hosted = planned_on_hosts({file, "--bandwidths", "3000,450,50,64"});
  BOOST_TEST(cost_in(hosted.out) == cost_in(made.out));
  simulated_on_hosts(file, {"--bandwidths", "3000,450,50,64", "--output", hashed});
  BOOST_TEST(slurp(hashed).find("estimator with 3000, 450 and 50 GB/s, to host memory 64 GB/s") !=
             std::string::npos);

  const std::string tasks = folder.write("tasks.txt", "0,1,2,3 64,64,64,64\n");
  std::vector<std::string> compared{
      "compare",         "--tables", kHostTables,    "--tasks",  tasks,          "--devices",  "16",
      "--device-memory", "80GB",     "--cost-model", "torchrec", "--algorithms", "size-greedy"};
  const std::string slow = run_command(compared).out;
  compared.insert(compared.end(), fast.begin(), fast.end());
  BOOST_TEST(run_command(compared).out != slow);
}

BOOST_AUTO_TEST_CASE(bandwidths_that_are_none_are_refused) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plan.json");
  for (const std::string text :
       {"897", "897,600", "897,600,12.5,32,1", "897,600,", "a,b,c", "897,600,12.5,"}) {
    const Outcome refused = planned_on_hosts({file, "--bandwidths=" + text});
    expect_one_line(refused, 2, "--bandwidths: found '");
  }
  expect_one_line(
      planned_on_hosts({file, "--bandwidths=897,600"}), 2,
      "--bandwidths: found '897,600', expected 3 or 4 numbers separated by single commas");
  expect_one_line(planned_on_hosts({file, "--bandwidths=897,600,12.5,0"}), 2,
                  "--bandwidths: found '0', expected a number from 0.000001 to 1000000");
  // 963146547: as TorchRec's Topology takes it, in bytes a millisecond.
  for (const std::string number : {"0", "-1", "nan", "inf", "1e-9", "1e400", "963146547"}) {
    expect_one_line(
        planned_on_hosts({file, "--bandwidths=897," + number + ",12.5"}), 2,
        "--bandwidths: found '" + number + "', expected a number from 0.000001 to 1000000");
  }
}

BOOST_AUTO_TEST_CASE(bandwidths_that_change_nothing_are_told) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  const std::string tasks = folder.write("tasks.txt", "0,1 64,64\n");
  const std::vector<std::vector<std::string>> commands{
      {"plan", "--devices", "8", "--algorithm", "size-greedy", "--output", plan},
      {"simulate", "--plan", plan},
      {"compare", "--tasks", tasks, "--devices", "8", "--algorithms", "size-greedy"}};
  for (std::vector<std::string> arguments : commands) {
    arguments.insert(arguments.end(), {"--tables", kHostTables, "--device-memory", "80GB",
                                       "--bandwidths", "3000,450,50", "--cache-hits", "curve"});
    const Outcome outcome = run_command(arguments);
    BOOST_TEST(outcome.exit_code == 0);
    BOOST_TEST(outcome.err ==
               "--bandwidths: changes nothing, only the cost model torchrec counts with them\n"
               "--cache-hits: changes nothing, only the cost model torchrec knows tables in host "
               "memory\n");
  }
}

BOOST_AUTO_TEST_CASE(without_the_flag_devices_are_on_hosts_of_eight_under_any_cost_model) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plan.json");
  const auto planned = [&](const std::string& devices, std::vector<std::string> more) {
    std::vector<std::string> arguments{"plan",  "--tables",    kHostTables,  "--devices",
                                       devices, "--output",    file,         "--device-memory",
                                       "80GB",  "--algorithm", "size-greedy"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_command(arguments);
    BOOST_TEST(outcome.exit_code == 0);
    return outcome.err;
  };
  const auto exported = [&](const std::string& format) {
    return run_command({"export", "--tables", kHostTables, "--plan", file, "--format", format});
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::vector<std::string> torchrec{"--format", "torchrec"};
  const std::string two_hosts =
      "16 devices are taken for hosts of 8: --devices-per-host says others\n";
  const std::string one_host =
      "12 devices are taken for one host: --devices-per-host says others\n";
  for (const std::string model : {"torchrec", "h200_sim"}) {
    BOOST_TEST(planned("16", {"--format", "torchrec", "--cost-model", model}) == two_hosts);
    BOOST_TEST(contains(slurp(file), "rank:10/cuda:2"));
    BOOST_TEST(!contains(slurp(file), "/cuda:8"));
  }
  // What is read from a file needs no taking for; nor does one host's worth, or what is said.
  BOOST_TEST(exported("torchrec").err.empty());
  BOOST_TEST(exported("torchrec").out == slurp(file));
  BOOST_TEST(exported("json").err.empty());
  BOOST_TEST(planned("12", torchrec) == one_host);
  BOOST_TEST(contains(slurp(file), "rank:10/cuda:10"));
  BOOST_TEST(planned("8", torchrec).empty());
  BOOST_TEST(contains(slurp(file), "rank:7/cuda:7"));
  const std::string all =
      "--devices-per-host: changes placements only, h200_sim has the hosts it was trained on\n";
  BOOST_TEST(planned("16", {"--format", "torchrec", "--devices-per-host", "16"}) == all);
  BOOST_TEST(contains(slurp(file), "rank:10/cuda:10"));
  BOOST_TEST(exported("json").err.empty());
  BOOST_TEST(contains(exported("json").out, "\"devices_per_host\": 16"));
  BOOST_TEST(planned("16", {}).empty());
  for (const std::string format : {"torchrec", "hugectr"}) {
    const Outcome written = exported(format);
    BOOST_TEST(written.err == two_hosts);
    BOOST_TEST(contains(written.out, format == "torchrec" ? "rank:10/cuda:2" : "Hierarchical"));
  }
  BOOST_TEST(exported("csv").err.empty());
}

BOOST_AUTO_TEST_SUITE_END()
