// Plans as folders of files, through the real command.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::Process;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

struct ChakraExample {
  TemporaryFolder folder;
  std::string plan = folder.file("plan.json");

  ChakraExample() {
    const Outcome made =
        run_command({"plan", "--tables", source_file("examples/dlrm_dcnv2.json"), "--devices", "4",
                     "--device-memory", "80GB", "--algorithm", "size-greedy", "--output", plan});
    BOOST_TEST_REQUIRE(made.exit_code == 0, made.err);
  }

  [[nodiscard]] std::vector<std::string> arguments(const std::string& output,
                                                   const std::vector<std::string>& more) const {
    std::vector<std::string> all{"export", "--tables", source_file("examples/dlrm_dcnv2.json"),
                                 "--plan", plan,       "--format",
                                 "chakra", "--output", output};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  [[nodiscard]] Outcome exported(const std::string& output,
                                 const std::vector<std::string>& more = {}) const {
    return run_command(arguments(output, more));
  }

  [[nodiscard]] std::vector<std::string> files_in(const std::string& path) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

/// An export that goes on until it is stopped, and has begun.
class LongExport {
 public:
  LongExport(const ChakraExample& example, const std::string& output)
      : process_(command(example.arguments(output, {"--steps", "1000000"})), {}) {
    for (int k = 0; k < 6000 && example.files_in(output).empty(); ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  Outcome stop(int signal_number) {
    process_.send_signal(signal_number);
    return process_.wait();
  }

 private:
  static std::vector<std::string> command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), NEUROSHARD_COMMAND);
    return arguments;
  }

  Process process_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(export_folder)

BOOST_AUTO_TEST_CASE(a_new_or_an_empty_folder_gets_a_file_for_each_rank) {
  const ChakraExample example;
  const std::string made = example.folder.file("new");
  const std::string empty = example.folder.file("empty");
  std::filesystem::create_directory(empty);
  const std::vector<std::string> expected{"step.0.et", "step.1.et", "step.2.et", "step.3.et"};
  std::filesystem::permissions(empty, std::filesystem::perms::owner_all);
  for (const std::string& output : {made + "/", empty}) {
    const Outcome outcome = example.exported(output);
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    BOOST_TEST(outcome.out.empty());
    BOOST_TEST(example.files_in(output) == expected, boost::test_tools::per_element());
  }
  for (const std::string& name : expected) {
    BOOST_TEST((slurp(made + "/" + name) == slurp(empty + "/" + name)));
  }
  // An empty folder is filled, not replaced: it may be a mounted disk, or where a shell stands.
  BOOST_TEST((std::filesystem::status(empty).permissions() == std::filesystem::perms::owner_all));
  const auto readable =
      std::filesystem::status(made).permissions() & std::filesystem::perms::group_read;
  BOOST_TEST((readable != std::filesystem::perms::none));
}

BOOST_AUTO_TEST_CASE(with_a_profile_a_network_simulator_has_its_files_too) {
  const ChakraExample example;
  const std::string traces = example.folder.file("traces");
  const Outcome outcome = example.exported(traces, {"--profile", "H100-80G"});
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST((example.files_in(traces) ==
              std::vector<std::string>{"memory.json", "network.yml", "step.0.et", "step.1.et",
                                       "step.2.et", "step.3.et", "system.json"}));
  const std::string network = slurp(traces + "/network.yml");
  BOOST_TEST(network.starts_with("topology: [ Switch ]\nnpus_count: [ 4 ]\nbandwidth: [ 341.7"),
             network);
  expect_one_line(example.exported(example.folder.file("x"), {"--profile", "H999"}), 2, "H999");
  const Outcome json = run_command({"export", "--tables", source_file("examples/dlrm_dcnv2.json"),
                                    "--plan", example.plan, "--profile", "H100-80G", "--output",
                                    example.folder.file("again.json")});
  BOOST_TEST(json.exit_code == 0, json.err);
  BOOST_TEST(json.err.find("--profile: json has no place for it") != std::string::npos, json.err);
}

BOOST_AUTO_TEST_CASE(what_an_interrupt_or_a_killed_process_leaves_goes) {
  const ChakraExample example;
  const std::string output = example.folder.file("empty");
  std::filesystem::create_directory(output);
  {
    LongExport interrupted(example, output);
    expect_one_line(interrupted.stop(SIGINT), 1, "interrupted: nothing is written");
    BOOST_TEST(example.files_in(output).empty());
  }
  {
    LongExport killed(example, output);
    // Somebody is at work there.
    expect_one_line(example.exported(output), 2, "empty: has files");
    killed.stop(SIGKILL);
    BOOST_TEST(!example.files_in(output).empty());
  }
  BOOST_TEST(example.exported(output).exit_code == 0);
  BOOST_TEST(example.files_in(output).size() == 4U);
}

BOOST_AUTO_TEST_CASE(nothing_is_overwritten_and_nothing_is_left_of_what_failed) {
  const ChakraExample example;
  const std::string full = example.folder.file("full");
  std::filesystem::create_directory(full);
  example.folder.write("full/mine.txt", "mine");
  const std::vector<std::string> before = example.files_in(example.folder.path().string());
  expect_one_line(example.exported(full), 2, "full: has files, expected a new or an empty folder");
  expect_one_line(example.exported(example.plan), 2,
                  "plan.json: is a file, expected a new or an empty folder");
  expect_one_line(example.exported("-"), 2, "chakra is a folder of files, expected --output DIR");
  expect_one_line(run_command({"export", "--tables", source_file("examples/dlrm_dcnv2.json"),
                               "--plan", example.plan, "--format", "chakra"}),
                  2, "chakra is a folder of files, expected --output DIR");
  expect_one_line(example.exported(example.folder.file("no/such")), 1, "No such file");
  std::filesystem::create_symlink("nothing", example.folder.path() / "link");
  expect_one_line(example.exported(example.folder.file("link")), 2, "is a link to nothing");
  std::filesystem::remove(example.folder.path() / "link");
  // Refused when the folder is open.
  expect_one_line(
      example.exported(example.folder.file("other"), {"--exchange-nodes", "collective"}), 2,
      "unequally much, expected pairs");
  BOOST_TEST(example.files_in(example.folder.path().string()) == before,
             boost::test_tools::per_element());
  BOOST_TEST(slurp(full + "/mine.txt") == "mine");
}

BOOST_AUTO_TEST_CASE(what_other_formats_have_no_place_for_is_said) {
  const ChakraExample example;
  const Outcome outcome =
      run_command({"export", "--tables", source_file("examples/dlrm_dcnv2.json"), "--plan",
                   example.plan, "--format", "csv", "--steps", "2"});
  BOOST_TEST(outcome.exit_code == 0);
  BOOST_TEST(outcome.err == "--steps: csv has no place for it\n");
  // A search writes one file.
  expect_one_line(run_command({"plan", "--tables", source_file("examples/dlrm_dcnv2.json"),
                               "--devices", "4", "--device-memory", "80GB", "--format", "chakra",
                               "--output", example.folder.file("x")}),
                  2, "--format: found 'chakra'");
}

BOOST_AUTO_TEST_SUITE_END()
