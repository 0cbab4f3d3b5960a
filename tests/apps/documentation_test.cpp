// The manual pages and the completion say what --help says.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/apps/process.h"

namespace {

using neuroshard::test::command_names;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::shell;
using neuroshard::test::slurp;
using neuroshard::test::split_words;
using neuroshard::test::TemporaryFolder;

/// The flags a command's help explains: "--tables", ..
std::vector<std::string> flags_of(const std::string& command) {
  std::vector<std::string> arguments = split_words(command);
  arguments.emplace_back("--help");
  std::vector<std::string> flags;
  for (const std::string& line : lines_of(run_command(arguments).out)) {
    const std::vector<std::string> words = split_words(line);
    if (line.starts_with("  --")) flags.push_back(words[0]);
  }
  return flags;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// What bash offers for the last word of a command line, by the script in $1.
std::vector<std::string> offered(const std::string& script, const std::string& line) {
  const std::string bash =
      "bash --norc -c 'source \"$0\"; COMP_WORDS=(" + line +
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _neuroshard; printf \"%s\\n\" "
      "\"${COMPREPLY[@]}\"' " +
      script;
  const Outcome outcome = shell(bash);
  BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  return lines_of(outcome.out);
}

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(documentation)

BOOST_AUTO_TEST_CASE(every_command_has_a_page_with_every_flag) {
  const TemporaryFolder folder;
  const std::string pages = folder.file("man1");
  BOOST_REQUIRE(run_command({"manual", "--output", pages}).exit_code == 0);
  const std::string program = slurp(pages + "/neuroshard.1");
  std::size_t count = 1;
  for (const std::string& name : command_names()) {
    const std::string page = slurp(pages + "/neuroshard-" + replaced(name, " ", "-") + ".1");
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(page.starts_with(".TH NEUROSHARD\\-"));
      BOOST_TEST(!flags_of(name).empty() == (page.find(".TP\n\\fB\\-\\-") != std::string::npos));
      for (const std::string& flag : flags_of(name)) {
        BOOST_TEST(page.find("\n\\fB" + replaced(flag, "-", "\\-") + "\\fR") != std::string::npos,
                   flag);
      }
      BOOST_TEST(program.find("neuroshard " + replaced(name, "-", "\\-") + "\\fR") !=
                 std::string::npos);
    }
    ++count;
  }
  const std::filesystem::directory_iterator files(pages);
  BOOST_TEST(static_cast<std::size_t>(std::distance(begin(files), end(files))) == count);
}

BOOST_AUTO_TEST_CASE(man_shows_the_pages_without_complaint) {
  if (std::system("command -v man > /dev/null && command -v groff > /dev/null") != 0) {
    BOOST_TEST_MESSAGE("skipped: no man or groff here");
    return;
  }
  const TemporaryFolder folder;
  BOOST_REQUIRE(run_command({"manual", "--output", folder.file("man1")}).exit_code == 0);
  const Outcome outcome =
      shell("cd " + folder.file("man1") +
            " && for page in *.1; do man --warnings -l -Tutf8 -Z \"$page\" > /dev/null; done");
  BOOST_TEST(outcome.exit_code == 0);
  BOOST_TEST(outcome.err.empty(), outcome.err);
  const Outcome text = shell("man -l " + folder.file("man1/neuroshard-plan.1") + " | cat");
  BOOST_TEST(text.out.find("neuroshard plan --tables examples/dlrm_dcnv2.json") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(bash_completes_commands_flags_values_and_files) {
  const TemporaryFolder folder;
  const std::string script = folder.file("neuroshard.bash");
  BOOST_REQUIRE(run_command({"completion", "bash", "--output", script}).exit_code == 0);
  BOOST_TEST(offered(script, "neuroshard pl") == std::vector<std::string>{"plan"});
  for (const std::string& name : command_names()) {
    const std::vector<std::string> words = split_words(name);
    BOOST_TEST(holds(offered(script, "neuroshard \"\""), words[0]), name);
    if (words.size() > 1)
      BOOST_TEST(holds(offered(script, "neuroshard " + words[0] + " \"\""), words[1]));
    const std::vector<std::string> flags = offered(script, "neuroshard " + name + " --");
    for (const std::string& flag : flags_of(name)) BOOST_TEST(holds(flags, flag), name + flag);
  }
  BOOST_TEST(offered(script, "neuroshard plan --algorithm size-l") ==
             std::vector<std::string>{"size-lookup-greedy"});
  const std::string tables = folder.write("my tables.json", "{}");
  BOOST_TEST(offered(script, "neuroshard plan --tables " + folder.file("my")) ==
             std::vector<std::string>{tables});
}

BOOST_AUTO_TEST_SUITE_END()
