// Help is complete, and every example in it works as it stands.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

using neuroshard::test::command_names;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::ProcessOptions;
using neuroshard::test::run_command;
using neuroshard::test::shell;
using neuroshard::test::source_file;
using neuroshard::test::split_words;
using neuroshard::test::TemporaryFolder;

std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> examples;
  bool in_examples = false;
  for (const std::string& line : lines_of(help)) {
    if (line.empty()) in_examples = false;
    if (in_examples) examples.push_back(line);
    if (line == "example:") in_examples = true;
  }
  return examples;
}

/// Whether the examples of a command are long work: searches, measurements, trainings, collections.
bool is_long_work(const std::string& command) {
  constexpr std::array<std::string_view, 12> kLong{"bench",    "calibrate", "collect",  "compare",
                                                   "evaluate", "export",    "frontier", "measure",
                                                   "plan",     "replan",    "sweep",    "train"};
  return std::any_of(kLong.begin(), kLong.end(),
                     [&](std::string_view one) { return command.starts_with(one); });
}

Outcome help_of(const std::string& command) {
  std::vector<std::string> arguments = split_words(command);
  arguments.emplace_back("--help");
  return run_command(arguments);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(help)

BOOST_AUTO_TEST_CASE(every_command_is_listed_and_explains_itself) {
  const std::vector<std::string> names = command_names();
  for (const std::string expected :
       {"plan", "simulate", "compare", "sweep", "replan", "collect compute", "collect comm",
        "train compute", "train comm", "evaluate compute", "evaluate comm", "calibrate compute",
        "calibrate comm", "tables generate", "tables summarize", "bench", "check", "export",
        "tables import"}) {
    BOOST_TEST((std::find(names.begin(), names.end(), expected) != names.end()), expected);
  }
  for (const std::string& name : names) {
    const Outcome help = help_of(name);
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(help.exit_code == 0);
      BOOST_TEST(help.err.empty());
      BOOST_TEST(help.out.starts_with("neuroshard " + name + " - "));
      BOOST_TEST(help.out.find("usage: neuroshard " + name) != std::string::npos);
      BOOST_TEST(!examples_in(help.out).empty());
      for (const std::string& line : lines_of(help.out)) BOOST_TEST(line.size() <= 120U);
    }
  }
  BOOST_TEST(run_command({"collect", "--help"}).out.find("collect comm") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_example_works) {
  for (const std::string& name : command_names()) {
    // The root of the source tree as far as examples may read it, without writing into it.
    const TemporaryFolder folder;
    std::filesystem::create_directory_symlink(source_file("examples"), folder.path() / "examples");
    ProcessOptions options;
    options.directory = folder.path();
    // Under sanitizers those are minutes of what the suites of these commands do, too.
    if (neuroshard::test::kSanitized && is_long_work(name)) continue;
    for (const std::string& example : examples_in(help_of(name).out)) {
      const Outcome outcome = shell(example, options);
      BOOST_TEST(outcome.exit_code == 0, example << "\n" << outcome.err);
      BOOST_TEST(outcome.out.find("\x1b") == std::string::npos, example);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
