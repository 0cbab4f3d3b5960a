// Bad usage: exit code 2, nothing on standard output, one line on standard error that names the
// flag, what was found and what was expected.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/apps/process.h"

namespace {

using neuroshard::test::example_plan_arguments;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

void expect_usage_error(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& words) {
  const Outcome outcome = run_command(arguments);
  BOOST_TEST_CONTEXT("stderr: " << outcome.err) {
    BOOST_TEST(outcome.exit_code == 2);
    BOOST_TEST(outcome.out.empty());
    BOOST_TEST(lines_of(outcome.err).size() == 1U);
    for (const std::string& word : words) {
      BOOST_TEST(outcome.err.find(word) != std::string::npos, "expected '" << word << "'");
    }
  }
}

/// A complete and right `plan` line, to which each case adds its mistake.
std::vector<std::string> plan_with(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{
      "plan", "--tables", std::string(NEUROSHARD_SOURCE_DIR) + "/examples/dlrm_dcnv2.json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(usage)

BOOST_AUTO_TEST_CASE(commands_must_be_known) {
  expect_usage_error({}, {"no command", "--help"});
  expect_usage_error({"paln"}, {"'paln'", "plan, simulate", "did you mean 'plan'?"});
  expect_usage_error({"collect"}, {"neuroshard collect:", "compute or comm"});
  expect_usage_error({"collect", "compte"}, {"'compte'", "did you mean 'compute'?"});
  expect_usage_error({"--version", "more"}, {"'more'"});
}

BOOST_AUTO_TEST_CASE(flags_must_be_known_complete_and_single) {
  expect_usage_error({"plan", "--device-memry", "1GB"},
                     {"neuroshard plan:", "'--device-memry'", "did you mean '--device-memory'?"});
  // What resembles nothing is not taken for a typo.
  BOOST_TEST(run_command({"plan", "--bogus", "1"}).err ==
             "neuroshard plan: unknown flag '--bogus'\n");
  expect_usage_error({"plan", "tables.json"}, {"'tables.json'", "only flags"});
  expect_usage_error({"plan", "-t", "x"}, {"'-t'"});
  expect_usage_error({"plan", "--", "--tables", "x"}, {"'--'", "only flags"});
  expect_usage_error({"plan", "--help=1"}, {"--help", "expected none"});
  expect_usage_error({"plan", "--dev", "8"}, {"unknown flag '--dev'"});  // no abbreviations
  expect_usage_error({"plan", "--tables"}, {"--tables", "no value"});
  expect_usage_error({"plan", "--tables="}, {"--tables", "no value"});
  expect_usage_error({"plan", "--tables", ""}, {"--tables", "''"});
  expect_usage_error({"plan", "--tables", "--devices", "8"}, {"--tables", "no value"});
  expect_usage_error({"plan", "--devices", "8", "--devices", "8"}, {"--devices", "twice"});
  expect_usage_error(plan_with({"--devices", "8"}), {"no --device-memory", "SIZE"});
}

BOOST_AUTO_TEST_CASE(numbers_must_be_whole_and_in_range) {
  for (const std::string value :
       {"0", "-1", "1.5", "8x", "x", " 8", "+8", "65537", "1e3", "nan", "99999999999999999999"}) {
    expect_usage_error(plan_with({"--device-memory", "80GB", "--devices", value}),
                       {"--devices", "'" + value + "'", "an integer from 1 to 65536"});
  }
  for (const std::string value : {"0", "-1", "nan", "inf", "1s", "1e99"}) {
    expect_usage_error(
        plan_with({"--device-memory", "80GB", "--devices", "8", "--time-limit", value}),
        {"--time-limit", "'" + value + "'", "a number above 0"});
  }
  for (const std::string value : {"-1", "18446744073709551616", "0x1", "1.0"}) {
    expect_usage_error(plan_with({"--device-memory", "80GB", "--devices", "8", "--seed", value}),
                       {"--seed", "'" + value + "'"});
  }
}

BOOST_AUTO_TEST_CASE(sizes_must_be_positive_and_have_a_known_unit) {
  for (const std::string value :
       {"0", "0GB", "-1GiB", "80 GB", "80gb", "GB", "nan", "inf", "1e30GB", "9000000PB"}) {
    expect_usage_error(plan_with({"--devices", "8", "--device-memory", value}),
                       {"--device-memory", value});
  }
}

BOOST_AUTO_TEST_CASE(an_output_takes_the_place_of_no_input) {
  const TemporaryFolder folder;
  const std::string tables =
      folder.write("tables.json", slurp(source_file("examples/dlrm_dcnv2.json")));
  const std::string link = folder.file("link.json");
  std::filesystem::create_symlink("tables.json", link);
  const std::string data = folder.file("data");
  BOOST_REQUIRE(run_command({"collect", "compute", "--backend", "sim", "--profile", "H200-141G",
                             "--samples", "20", "--output", data})
                    .exit_code == 0);
  const std::string samples = slurp(data + "/data.txt");
  for (const std::string& output : {tables, link, folder.file("./tables.json")}) {
    expect_usage_error({"plan", "--tables", tables, "--devices", "8", "--device-memory", "80GB",
                        "--output", output},
                       {"--output", output, "--tables reads"});
    expect_usage_error({"tables", "summarize", "--tables", tables, "--output", output},
                       {"--output", output, "--tables reads"});
  }
  expect_usage_error({"train", "compute", "--data", data, "--output", data + "/data.txt"},
                     {"--output", "--data reads"});
  const std::string lookups = folder.file("lookups");
  std::filesystem::copy(source_file("examples/lookups"), lookups);
  for (const std::string name : {"indices.npy", "offsets.npy", "lengths.npy"}) {
    const std::string array = lookups + "/" + name;
    expect_usage_error({"tables", "import", "--indices", lookups, "--dim", "8", "--output", array},
                       {"--output", array, "--indices reads"});
    BOOST_TEST(slurp(array) == slurp(source_file("examples/lookups/" + name)));
  }
  const std::string model = folder.file("model");
  expect_usage_error(
      {"train", "compute", "--data", data, "--output", model, "--report", folder.file("./model")},
      {"model", "too"});
  expect_usage_error({"train", "compute", "--data", data, "--base", "torchrec", "--output", model},
                     {"--base", "torchrec"});
  BOOST_TEST(slurp(tables) == slurp(source_file("examples/dlrm_dcnv2.json")));
  BOOST_TEST(slurp(data + "/data.txt") == samples);
  BOOST_TEST(!std::filesystem::exists(model));
}

BOOST_AUTO_TEST_CASE(an_input_may_be_replaced_by_its_like) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  BOOST_REQUIRE(run_command(example_plan_arguments({"--output", plan})).exit_code == 0);
  const Outcome outcome =
      run_command({"simulate", "--tables", source_file("examples/dlrm_dcnv2.json"), "--plan", plan,
                   "--device-memory", "80GB", "--cost-model", "a100_sim", "--output", plan});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(slurp(plan).find("a100_sim") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(words_must_be_known) {
  expect_usage_error(
      plan_with({"--devices", "8", "--device-memory", "80GB", "--algorithm", "magic"}),
      {"--algorithm", "'magic'", "size-greedy"});
  expect_usage_error(
      plan_with({"--devices", "8", "--device-memory", "80GB", "--cost-model", "nope"}),
      {"nope", "h200_sim"});
  const std::vector<std::string> compare{"compare",   "--tables",    "pool.json", "--tasks",
                                         "tasks.txt", "--devices",   "4",         "--device-memory",
                                         "4GiB",      "--algorithms"};
  const auto with = [&compare](const std::string& names) {
    std::vector<std::string> arguments = compare;
    arguments.push_back(names);
    return arguments;
  };
  expect_usage_error(with("random,,size-greedy"), {"--algorithms", "single commas"});
  expect_usage_error(with("random,random"), {"--algorithms", "'random'"});
  expect_usage_error(with("random,size-gredy"), {"--algorithms", "did you mean 'size-greedy'?"});
}

BOOST_AUTO_TEST_CASE(an_error_is_one_line_whatever_was_given) {
  expect_usage_error(
      {"plan", "--tables", "no\nsuch\x1b[31mfile", "--devices", "8", "--device-memory", "1GB"},
      {"no\\x0asuch\\x1b[31mfile"});
  expect_usage_error({"plan", std::string(100000, 'x')}, {"expected only flags"});
}

BOOST_AUTO_TEST_CASE(an_error_is_short_however_much_was_given) {
  const std::string much(100000, 'x');
  for (const std::string flag : {"--devices", "--algorithm", "--cost-model", "--no-such-flag"}) {
    const Outcome outcome = run_command(
        plan_with({flag, much, flag == "--devices" ? "--device-memory" : "--devices", "8"}));
    BOOST_TEST(outcome.exit_code == 2);
    BOOST_TEST(outcome.err.size() < 1100U, flag);
  }
}

BOOST_AUTO_TEST_CASE(standard_streams_are_taken_once) {
  const std::vector<std::string> cluster{"--devices", "8", "--device-memory", "80GB"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), cluster.begin(), cluster.end());
    return arguments;
  };
  for (const std::string flag : {"--tasks", "--cost-model"}) {
    std::vector<std::string> arguments{"compare", "--tables", "-", flag, "-"};
    if (flag != "--tasks") arguments.insert(arguments.end(), {"--tasks", "tasks.txt"});
    expect_usage_error(with(arguments), {flag + ": found '-'", "--tables reads stdin"});
  }
  expect_usage_error(with({"check", "--tables", "-", "--plan", "-"}), {"--plan: found '-'"});
  expect_usage_error({"train", "compute", "--data", "d", "--output", "-", "--report", "-"},
                     {"--report: found '-'", "--output writes to stdout"});
}

BOOST_AUTO_TEST_CASE(help_takes_a_command) {
  BOOST_TEST(run_command({"help"}).out == run_command({"--help"}).out);
  BOOST_TEST(run_command({"help", "plan"}).out == run_command({"plan", "--help"}).out);
  BOOST_TEST(run_command({"help", "train"}).out == run_command({"train", "--help"}).out);
  BOOST_TEST(run_command({"help", "train", "comm"}).out ==
             run_command({"train", "comm", "--help"}).out);
  BOOST_TEST(run_command({"help", "plan"}).exit_code == 0);
  expect_usage_error({"help", "plann"}, {"plann", "did you mean 'plan'?"});
}

BOOST_AUTO_TEST_CASE(version_is_one_line) {
  const Outcome outcome = run_command({"--version"});
  BOOST_TEST(outcome.exit_code == 0);
  BOOST_TEST(lines_of(outcome.out).size() == 1U);
  BOOST_TEST(outcome.out.starts_with("neuroshard 0."));
  BOOST_TEST(outcome.out.find(" (") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
