// The plan comes first: what it is compared with changes nothing in its file.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/apps/process.h"

namespace {

using neuroshard::test::example_plan_arguments;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::Process;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::TemporaryFolder;

std::string read_all(int file) {
  std::string bytes;
  char buffer[4096];
  for (ssize_t size = 0; (size = read(file, buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<std::size_t>(size));
  }
  return bytes;
}

struct Planned {
  std::string file;
  Outcome outcome;
};

/// Writes 5,000 tables to the file.
void generate_tables(const std::string& tables) {
  BOOST_TEST_REQUIRE(
      run_command({"tables", "generate", "--count", "5000", "--dims", "64", "--output", tables})
          .exit_code == 0);
}

/// Plans tables whose plan no pipe holds, into a pipe, and does `meanwhile` as soon as the command
/// has opened it: it waits in the middle of its file then.
Planned planned(const std::function<void(const Process&)>& meanwhile) {
  const TemporaryFolder folder;
  const std::string tables = folder.file("tables.json");
  const std::string pipe = folder.file("plan.json");
  generate_tables(tables);
  BOOST_TEST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  Process process(
      {NEUROSHARD_COMMAND, "plan", "--tables", tables, "--devices", "8", "--device-memory", "4TB",
       "--algorithm", "size-greedy", "--threads", "1", "--output", pipe},
      {});
  const int file = open(pipe.c_str(), O_RDONLY);
  BOOST_TEST_REQUIRE(file >= 0);
  meanwhile(process);
  Planned planned;
  planned.file = read_all(file);
  close(file);
  planned.outcome = process.wait();
  return planned;
}

bool shows_baselines(const Planned& planned) {
  return planned.outcome.out.find("the best baseline is ") != std::string::npos;
}

void check_whole(const Planned& planned) {
  BOOST_TEST(planned.outcome.exit_code == 0, planned.outcome.err);
  BOOST_TEST(planned.outcome.out.find("\nplan cost ") != std::string::npos);
  BOOST_TEST(planned.file.starts_with("{"));
  BOOST_TEST(planned.file.ends_with("}\n"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_comparison)

// The command and the product have the name, too; flags and files have it alone.
BOOST_AUTO_TEST_CASE(people_read_which_neuroshard_is_the_algorithm) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  const Outcome refined = run_command(example_plan_arguments());
  BOOST_TEST(refined.out.find("\nneuroshard (paper) ") != std::string::npos, refined.out);
  BOOST_TEST(refined.out.find("\nthe best baseline is neuroshard (paper): this plan is ") !=
             std::string::npos);
  const Outcome paper =
      run_command(example_plan_arguments({"--algorithm", "neuroshard", "--output", plan}));
  BOOST_TEST(paper.out.find(" % (neuroshard (paper), ") != std::string::npos, paper.out);
  BOOST_TEST(slurp(plan).find("\"algorithm\": \"neuroshard\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_plan_is_written_before_it_is_compared) {
  const Planned undisturbed = planned([](const Process&) {});
  check_whole(undisturbed);
  BOOST_TEST(shows_baselines(undisturbed));
  const Planned interrupted = planned([](const Process& process) { process.send_signal(SIGINT); });
  check_whole(interrupted);
  BOOST_TEST(!shows_baselines(interrupted), interrupted.outcome.out);
}

// Enough devices for a search of minutes: no machine ends it within its second.
BOOST_AUTO_TEST_CASE(baselines_that_time_ended_say_so) {
  const TemporaryFolder folder;
  const std::string tables = folder.file("tables.json");
  generate_tables(tables);
  const Outcome outcome =
      run_command({"plan", "--tables", tables, "--devices", "4096", "--device-memory", "4TB",
                   "--algorithm", "size-greedy", "--threads", "1"});
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  std::string random, neuroshard;
  for (const std::string& line : lines_of(outcome.out)) {
    if (line.starts_with("random ")) random = line;
    if (line.starts_with("neuroshard (paper) ")) neuroshard = line;
  }
  BOOST_TEST(neuroshard.ends_with("  ended by time"), outcome.out);
  BOOST_TEST(!random.empty());
  BOOST_TEST(random.find("ended by time") == std::string::npos, random);
}

#ifndef NEUROSHARD_SANITIZED  // sanitizers need memory of their own
BOOST_AUTO_TEST_CASE(a_comparison_that_fails_loses_no_plan) {
  const Planned short_of_memory = planned([](const Process& process) {
    const rlimit none{1, 1};
    BOOST_TEST_REQUIRE(prlimit(process.id(), RLIMIT_AS, &none, nullptr) == 0);
  });
  check_whole(short_of_memory);
  BOOST_TEST(!shows_baselines(short_of_memory));
  BOOST_TEST(short_of_memory.outcome.err ==
             "the plan is not compared with the baselines': out of memory\n");
}
#endif

BOOST_AUTO_TEST_SUITE_END()
