// Terminals and pipes.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

using neuroshard::test::contains;
using neuroshard::test::example_plan_arguments;
using neuroshard::test::lines_of;
using neuroshard::test::on_terminal;
using neuroshard::test::Outcome;
using neuroshard::test::Process;
using neuroshard::test::run_command;
using neuroshard::test::shell;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

}  // namespace

BOOST_AUTO_TEST_SUITE(streams)

BOOST_AUTO_TEST_CASE(a_pipe_gets_plain_text) {
  const Outcome outcome =
      run_command(example_plan_arguments(), {.environment = {{"LC_ALL", "C.UTF-8"}}});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.empty());
  BOOST_TEST(!contains(outcome.out, "\x1b"));
  for (const char c : outcome.out) BOOST_TEST_REQUIRE(static_cast<unsigned char>(c) < 0x80);
  BOOST_TEST(contains(outcome.out, "SIMULATED"));
  BOOST_TEST(contains(outcome.out, "slowest"));
}

BOOST_AUTO_TEST_CASE(a_pipe_that_does_not_block_gets_everything) {
  // As a parent that polls leaves it: more than a pipe holds, for a reader that is late.
  int ends[2];
  BOOST_TEST_REQUIRE(pipe(ends) == 0);
  BOOST_TEST_REQUIRE(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  const std::vector<std::string> arguments{"tables", "generate", "--count",
                                           "1000",   "--output", "-"};
  std::vector<std::string> command{"/bin/bash", "-c", "exec \"$@\" >&$0", std::to_string(ends[1]),
                                   NEUROSHARD_COMMAND};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Process process(command, {});
  close(ends[1]);
  constexpr int kFull = 65536;
  for (int queued = 0, tries = 0; queued < kFull && tries < 10'000; ++tries) {
    BOOST_TEST_REQUIRE(ioctl(ends[0], FIONREAD, &queued) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::string text;
  char buffer[4096];
  for (ssize_t size = 0; (size = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  const Outcome outcome = process.wait();
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(text.size() > kFull);
  BOOST_TEST((text == run_command(arguments).out));
}

BOOST_AUTO_TEST_CASE(a_terminal_gets_colours_and_utf8_unless_told_otherwise) {
  std::vector<std::string> quick = example_plan_arguments();
  quick.back() = "2000";  // evaluations: progress is shown after two seconds, and has codes
  const auto shown = [&](const std::string& term, const std::string& locale,
                         const std::string& no_color) {
    return on_terminal(
               quick, {.environment = {{"TERM", term}, {"LC_ALL", locale}, {"NO_COLOR", no_color}}})
        .out;
  };
  const std::string rich = shown("xterm", "C.UTF-8", "");
  BOOST_TEST(contains(rich, "\x1b[1m"));
  BOOST_TEST(contains(rich, "█"));
  const std::string uncoloured = shown("xterm", "C.UTF-8", "1");
  BOOST_TEST(!contains(uncoloured, "\x1b"));
  BOOST_TEST(contains(uncoloured, "█"));
  BOOST_TEST(!contains(shown("dumb", "C.UTF-8", ""), "\x1b"));
  BOOST_TEST(!contains(shown("xterm", "C", ""), "█"));
}

BOOST_AUTO_TEST_CASE(a_terminal_is_shown_names_that_it_would_obey) {
  const TemporaryFolder folder;
  const std::string tables = folder.write(
      "tables.json",
      R"({"format": "neuroshard-tables", "version": 1, "tables": [{"name": "a\u001b[2J\u009b31m",
          "rows": 100, "dim": 8, "pooling_factor": 1}]})");
  const std::string plan = folder.file("plan.json");
  const Outcome planned = run_command(
      {"plan", "--tables", tables, "--devices", "1", "--device-memory", "1GiB", "--output", plan});
  BOOST_TEST_REQUIRE(planned.exit_code == 0, planned.err);
  for (const std::string format : {"csv", "torchrec"}) {
    const std::vector<std::string> arguments{"export", "--tables", tables, "--plan",
                                             plan,     "--format", format};
    const std::string shown = on_terminal(arguments).out;
    BOOST_TEST(!contains(shown, "\x1b"), shown);
    BOOST_TEST(!contains(shown, "\xc2\x9b"), shown);
    BOOST_TEST(contains(shown, "\\xc2\\x9b31m"), shown);
    BOOST_TEST(contains(run_command(arguments).out,
                        "\xc2\x9b"
                        "31m"),
               format);
  }
}

BOOST_AUTO_TEST_CASE(a_terminal_sees_how_far_long_work_is_until_it_is_done) {
  std::vector<std::string> arguments = example_plan_arguments();
  const auto budget = std::find(arguments.begin(), arguments.end(), "--evaluations");
  arguments.erase(budget, budget + 2);
  arguments.insert(arguments.end(), {"--time-limit", "3"});
  const auto shown = [&](const std::string& term) {
    return on_terminal(arguments, {.environment = {{"TERM", term}, {"LC_ALL", "C"}}}).out;
  };
  const std::string text = shown("xterm");
  const std::size_t bar = text.find("\rrefine [####");
  BOOST_TEST_REQUIRE(bar != std::string::npos);
  const std::string line = text.substr(bar, text.find('\x1b', bar) - bar);
  // Shown two seconds after the command began; what is not of the search is longer on a slow
  // machine.
  BOOST_TEST((contains(line, "] 2/3 s  0:01 left") || contains(line, "] 1/3 s  0:02 left")), line);
  BOOST_TEST(!contains(line, "/s "), line);
  // Nothing of it is left above the plan.
  const std::size_t wiped = text.rfind("\r\x1b[K");
  BOOST_TEST_REQUIRE(wiped != std::string::npos);
  BOOST_TEST(wiped > text.rfind(" left"));
  BOOST_TEST(wiped < text.find("device  "));
  BOOST_TEST(!contains(shown("dumb"), "refine ["));
}

BOOST_AUTO_TEST_CASE(a_log_gets_a_line_now_and_then_from_long_work_and_none_from_short) {
  std::vector<std::string> arguments = example_plan_arguments();
  const auto budget = std::find(arguments.begin(), arguments.end(), "--evaluations");
  arguments.erase(budget, budget + 2);
  arguments.insert(arguments.end(), {"--time-limit", "6.5"});
  const Outcome long_one = run_command(arguments);
  BOOST_TEST_REQUIRE(long_one.exit_code == 0, long_one.err);
  const std::size_t line = long_one.err.find("refine: ");
  BOOST_TEST_REQUIRE(line != std::string::npos, long_one.err);
  // Five seconds after the command began; what is not of the search is longer on a slow machine.
  const std::string text = long_one.err.substr(line, long_one.err.find('\n', line) - line);
  BOOST_TEST((text == "refine: 5/7 s  0:02 left" || text == "refine: 4/7 s  0:03 left"), text);
  BOOST_TEST(long_one.err.find("refine: ", line + 1) == std::string::npos, long_one.err);
  BOOST_TEST(!contains(long_one.err, "\x1b"), long_one.err);
  arguments.back() = "2.5";
  BOOST_TEST(!contains(run_command(arguments).err, "refine: "));
}

BOOST_AUTO_TEST_CASE(a_reader_that_has_gone_is_no_error) {
  const Outcome outcome =
      shell("for k in 1 2 3; do neuroshard tables generate --count 5000 | head -n 1; done");
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.out == "{\n{\n{\n");
  BOOST_TEST(outcome.err.empty());
}

BOOST_AUTO_TEST_CASE(tables_come_from_standard_input) {
  const Outcome outcome =
      run_command({"plan", "--tables", "-", "--devices", "8", "--device-memory", "80GB",
                   "--evaluations", neuroshard::test::unless_sanitized("20000", "1000")},
                  {.input = slurp(source_file("examples/dlrm_dcnv2.json"))});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  const auto deterministic_part = [](const std::string& text) {
    return text.substr(0, text.find("plans evaluated"));
  };
  BOOST_TEST(deterministic_part(outcome.out) ==
             deterministic_part(run_command(example_plan_arguments()).out));
}

BOOST_AUTO_TEST_CASE(cost_models_come_from_standard_input) {
  const Outcome outcome =
      run_command(example_plan_arguments({"--cost-model", "-", "--algorithm", "size-greedy"}),
                  {.input = slurp(source_file("models/a100_sim.safetensors"))});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(contains(outcome.out, "cost model <stdin>: compute SIMULATED hardware A100-80G"));
}

BOOST_AUTO_TEST_CASE(no_note_goes_into_the_data_where_standard_error_is_closed) {
  const TemporaryFolder folder;
  const std::string collect =
      "neuroshard collect comm --backend sim --profile H200-141G --devices 2 --output data ";
  const Outcome outcome = shell(collect + "--samples 3 2>&- && " + collect + "--samples 6 2>&-",
                                {.directory = folder.path()});
  BOOST_TEST(outcome.exit_code == 0);
  const std::string data = slurp(folder.file("data/data.txt"));
  BOOST_TEST(lines_of(data).size() == 6U);
  BOOST_TEST(!contains(data, "resuming"), data);
}

BOOST_AUTO_TEST_SUITE_END()
