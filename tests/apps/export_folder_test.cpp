// Plans as folders of files, through the real command.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

struct Example {
  TemporaryFolder folder;
  std::string plan = folder.file("plan.json");

  Example() {
    const Outcome made =
        run_command({"plan", "--tables", source_file("examples/dlrm_dcnv2.json"), "--devices", "4",
                     "--device-memory", "80GB", "--algorithm", "size-greedy", "--output", plan});
    BOOST_TEST_REQUIRE(made.exit_code == 0, made.err);
  }

  [[nodiscard]] Outcome exported(const std::string& output,
                                 std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{
        "export", "--tables", source_file("examples/dlrm_dcnv2.json"),
        "--plan", plan,       "--format",
        "chakra", "--output", output};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
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

}  // namespace

BOOST_AUTO_TEST_SUITE(export_folder)

BOOST_AUTO_TEST_CASE(a_new_or_an_empty_folder_gets_a_file_for_each_rank) {
  const Example example;
  const std::string made = example.folder.file("new");
  const std::string empty = example.folder.file("empty");
  std::filesystem::create_directory(empty);
  const std::vector<std::string> expected{"step.0.et", "step.1.et", "step.2.et", "step.3.et"};
  for (const std::string& output : {made, empty + "/"}) {
    const Outcome outcome = example.exported(output);
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    BOOST_TEST(outcome.out.empty());
    BOOST_TEST(example.files_in(output) == expected, boost::test_tools::per_element());
  }
  for (const std::string& name : expected) {
    BOOST_TEST((slurp(made + "/" + name) == slurp(empty + "/" + name)));
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_overwritten_and_nothing_is_left_of_what_failed) {
  const Example example;
  const std::string full = example.folder.file("full");
  std::filesystem::create_directory(full);
  example.folder.write("full/mine.txt", "mine");
  const std::vector<std::string> before = example.files_in(example.folder.path().string());
  expect_one_line(example.exported(full), 2, "full: has files, expected a new or an empty folder");
  expect_one_line(example.exported(example.plan), 2,
                  "plan.json: is a file, expected a new or an empty folder");
  expect_one_line(example.exported("-"), 2, "--output: found -, expected a folder");
  expect_one_line(example.exported(example.folder.file("no/such")), 1, "No such file");
  // Refused when the folder is open.
  expect_one_line(
      example.exported(example.folder.file("other"), {"--exchange-nodes", "collective"}), 2,
      "unequally much, expected pairs");
  BOOST_TEST(example.files_in(example.folder.path().string()) == before,
             boost::test_tools::per_element());
  BOOST_TEST(slurp(full + "/mine.txt") == "mine");
}

BOOST_AUTO_TEST_CASE(what_other_formats_have_no_place_for_is_said) {
  const Example example;
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
