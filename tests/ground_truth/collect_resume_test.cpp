// Collections that end before their time, by themselves or killed in the midst of their threads,
// and go on.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <sstream>

#include "tests/ground_truth/collecting.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(collect_resume)

namespace {

using test::comm_on_sim;
using test::compute_on_cpu;
using test::compute_on_sim;
using test::lines_of;
using test::options_for;
using test::sim;
using test::some_tables;
using test::TemporaryFolder;
using test::text_of;
using test::value_of;

using Collect = Status (*)(const CollectOptions&);

/// Runs `collect` in a child process and kills it, with SIGKILL, once it has added some lines.
void collect_until_killed(Collect collect, CollectOptions options, std::int64_t at_least) {
  const std::string data = options.output + "/data.txt";
  const std::int64_t before = lines_of(text_of(data));
  options.samples = INT64_MAX;
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    static_cast<void>(collect(options));
    ::_exit(3);
  }
  while (lines_of(text_of(data)) < before + at_least) {
    int status = 0;
    BOOST_REQUIRE(::waitpid(child, &status, WNOHANG) == 0);  // it must not end by itself
    ::usleep(500);
  }
  BOOST_REQUIRE(::kill(child, SIGKILL) == 0);
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFSIGNALED(status));
}

/// The table sets of a compute data.txt, without the costs.
std::string sets_of(const std::string& text) {
  std::istringstream in(text);
  std::string sets;
  for (std::string line; std::getline(in, line);) sets += line.substr(0, line.find(' ')) + "\n";
  return sets;
}

/// Kills a collection several times, resumes it, and compares with one that was left alone.
void check_killed_and_resumed(Collect collect, std::int64_t at_least, bool equal_costs) {
  const TemporaryFolder killed;
  const TemporaryFolder whole;
  CollectOptions options = options_for(killed, 0);
  for (int round = 0; round < test::unless_sanitized(4, 2); ++round) {
    collect_until_killed(collect, options, at_least);
  }
  options.samples = lines_of(text_of(options.output + "/data.txt")) + 2 * at_least;
  BOOST_TEST_REQUIRE(collect(options).ok());
  CollectOptions alone = options_for(whole, options.samples);
  BOOST_TEST_REQUIRE(collect(alone).ok());

  const std::string text = text_of(options.output + "/data.txt");
  const std::string expected = text_of(alone.output + "/data.txt");
  BOOST_TEST(lines_of(text) == options.samples);
  BOOST_TEST(text.back() == '\n');
  BOOST_TEST((sets_of(text) == sets_of(expected)));  // no set twice, none missing, same order
  if (equal_costs) BOOST_TEST((text == expected));
}

}  // namespace

BOOST_AUTO_TEST_CASE(resuming_in_steps_gives_the_bytes_of_one_run) {
  const TemporaryFolder steps;
  const TemporaryFolder once;
  for (const std::int64_t samples : {1, 40, 40, 130}) {
    BOOST_TEST_REQUIRE(compute_on_sim(options_for(steps, samples)).ok());
  }
  BOOST_TEST_REQUIRE(compute_on_sim(options_for(once, 130)).ok());
  BOOST_TEST(text_of(steps.file("data/data.txt")) == text_of(once.file("data/data.txt")));
}

BOOST_AUTO_TEST_CASE(fewer_samples_than_there_are_change_nothing) {
  const TemporaryFolder folder;
  BOOST_TEST_REQUIRE(compute_on_sim(options_for(folder, 30)).ok());
  const std::string before = text_of(folder.file("data/data.txt"));
  const auto truth = sim();
  const CollectReport report =
      value_of(collect_compute(*truth, some_tables(), options_for(folder, 10)));
  BOOST_TEST(report.found == 30);
  BOOST_TEST(report.added == 0);
  BOOST_TEST(text_of(folder.file("data/data.txt")) == before);
}

BOOST_AUTO_TEST_CASE(killed_collections_lose_and_repeat_nothing) {
  check_killed_and_resumed(compute_on_sim, 150, true);
  check_killed_and_resumed(comm_on_sim, 150, true);
}

BOOST_AUTO_TEST_CASE(killed_measurements_keep_the_order_of_sets) {
  check_killed_and_resumed(compute_on_cpu, 2, false);
}

BOOST_AUTO_TEST_CASE(a_torn_line_is_cut_off_and_measured_again) {
  const TemporaryFolder folder;
  BOOST_TEST_REQUIRE(compute_on_sim(options_for(folder, 50)).ok());
  const std::string data = folder.file("data/data.txt");
  const std::string whole = text_of(data);
  std::filesystem::resize_file(data, whole.size() - 3);
  const auto truth = sim();
  const CollectReport report =
      value_of(collect_compute(*truth, some_tables(), options_for(folder, 50)));
  BOOST_TEST(report.found == 49);
  BOOST_TEST(report.added == 1);
  BOOST_TEST(report.repaired_bytes > 0);
  BOOST_TEST(text_of(data) == whole);
}

BOOST_AUTO_TEST_CASE(a_line_that_is_no_sample_is_found_before_any_is_measured) {
  for (const Collect collect : {Collect(compute_on_sim), Collect(comm_on_sim)}) {
    const TemporaryFolder folder;
    const std::string data = folder.file("data/data.txt");
    BOOST_TEST_REQUIRE(collect(options_for(folder, 20)).ok());
    std::ofstream(data, std::ios::app) << "garbage\n";
    const std::string before = text_of(data);
    const Status status = collect(options_for(folder, 40));
    BOOST_TEST((status.code() == StatusCode::kInvalidInput));
    BOOST_TEST(status.message().starts_with(data + ":21: "), status.message());
    BOOST_TEST(text_of(data) == before);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
