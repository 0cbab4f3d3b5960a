// Signals: what an interrupted command has done is kept, and nothing is said twice.
#include <signal.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/apps/process.h"

namespace {

using neuroshard::test::contains;
using neuroshard::test::example_plan_arguments;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::Process;
using neuroshard::test::run_command;
using neuroshard::test::shell;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

}  // namespace

BOOST_AUTO_TEST_SUITE(signals)

/// Until the process has a handler for the signal: its search is about to begin.
void wait_until_caught(const Process& process, int signal_number) {
  const std::string status = "/proc/" + std::to_string(process.id()) + "/status";
  for (unsigned long long caught = 0; (caught >> (signal_number - 1) & 1) == 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::string text = slurp(status);
    const std::string key = "SigCgt:\t";
    const std::size_t place = text.find(key);
    BOOST_TEST_REQUIRE((place != std::string::npos && !contains(text, "State:\tZ")));
    caught = std::stoull(text.substr(place + key.size(), 16), nullptr, 16);
  }
}

/// Until every thread of the process waits for something for a while: its search is over, and the
/// file that it writes to has no reader yet.
void wait_until_written(const Process& process) {
  wait_until_caught(process, SIGTERM);
  const std::string tasks = "/proc/" + std::to_string(process.id()) + "/task";
  for (int asleep_ms = 0; asleep_ms < 300; ++asleep_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      const std::string status = slurp((task.path() / "status").string());
      if (!contains(status, "State:\tS")) asleep_ms = 0;
    }
  }
}

BOOST_AUTO_TEST_CASE(an_interrupted_collection_stops_cleanly_and_goes_on) {
  const TemporaryFolder folder;
  const std::string data = folder.file("data");
  const auto samples = [&] { return lines_of(slurp(data + "/data.txt")).size(); };
  const auto arguments = [&](std::size_t count) -> std::vector<std::string> {
    return {"collect",   "comm",      "--backend", "sim",       "--profile",
            "H200-141G", "--devices", "4",         "--samples", std::to_string(count),
            "--output",  data};
  };
  {
    // As many as take a minute: the signal comes long before the end, on a busy machine too.
    std::vector<std::string> command = arguments(20'000'000);
    command.insert(command.begin(), NEUROSHARD_COMMAND);
    Process process(command, {});
    while (!std::filesystem::exists(data + "/data.txt") || samples() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    process.send_signal(SIGINT);
    const Outcome outcome = process.wait();
    BOOST_TEST(outcome.exit_code == 1);
    BOOST_TEST(lines_of(outcome.err).size() == 1U);
    BOOST_TEST(contains(outcome.err, "stopped after"), outcome.err);
  }
  const std::size_t wanted = samples() + 500;
  const Outcome resumed = run_command(arguments(wanted));
  BOOST_TEST(resumed.exit_code == 0, resumed.err);
  BOOST_TEST(contains(resumed.err, "resuming at sample"), resumed.err);
  BOOST_TEST(samples() == wanted);
}

BOOST_AUTO_TEST_CASE(a_command_that_waits_for_its_input_ends_at_the_first_signal) {
  const TemporaryFolder folder;
  const std::string tables = folder.file("tables");
  BOOST_TEST_REQUIRE(mkfifo(tables.c_str(), 0600) == 0);
  for (const int signal_number : {SIGINT, SIGTERM}) {
    Process process({NEUROSHARD_COMMAND, "plan", "--tables", tables, "--devices", "2",
                     "--device-memory", "8GiB"},
                    {});
    std::ofstream writer(tables);  // waits for the command to open it
    process.send_signal(signal_number);
    writer.close();  // ends a command that went on reading
    BOOST_TEST(process.wait().exit_code == 128 + signal_number);
  }
}

BOOST_AUTO_TEST_CASE(an_interrupted_search_gives_its_best_plan) {
  const TemporaryFolder folder;
  const std::string tables = folder.file("tables.json");
  BOOST_TEST_REQUIRE(
      run_command({"tables", "generate", "--count", "3000", "--dims", "64,128", "--output", tables})
          .exit_code == 0);
  Process process({NEUROSHARD_COMMAND, "plan", "--tables", tables, "--devices", "64",
                   "--device-memory", "4TB", "--output", folder.file("plan.json")},
                  {});
  wait_until_caught(process, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  process.send_signal(SIGINT);
  const Outcome outcome = process.wait();
  if (outcome.exit_code == 1) {  // no plan yet
    BOOST_TEST(lines_of(outcome.err).size() == 1U);
    BOOST_TEST(!std::filesystem::exists(folder.file("plan.json")));
  } else {
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    BOOST_TEST(contains(slurp(folder.file("plan.json")), "neuroshard-plan"));
  }
}

BOOST_AUTO_TEST_CASE(an_interrupted_search_near_a_plan_gives_the_best_so_far) {
  const TemporaryFolder folder;
  const std::string tables = source_file("examples/dlrm_dcnv2.json");
  const std::string now = folder.file("now.json");
  BOOST_TEST_REQUIRE(run_command({"plan", "--tables", tables, "--devices", "8", "--device-memory",
                                  "80GB", "--algorithm", "size-greedy", "--output", now})
                         .exit_code == 0);
  const std::string next = folder.file("next.json");
  Process process(
      {NEUROSHARD_COMMAND, "replan", "--tables", tables, "--plan", now, "--device-memory", "80GB",
       "--move-limit", "16GB", "--time-limit", "600", "--output", next},
      {});
  wait_until_caught(process, SIGINT);
  process.send_signal(SIGINT);
  const Outcome outcome = process.wait();
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(contains(outcome.err, "interrupted: this is the best plan so far"), outcome.err);
  BOOST_TEST(contains(slurp(next), "neuroshard-plan"));
}

BOOST_AUTO_TEST_CASE(a_second_signal_at_once_is_the_first_and_a_later_one_ends_the_command) {
  const TemporaryFolder folder;
  const std::string output = folder.file("plan.json");
  BOOST_TEST_REQUIRE(mkfifo(output.c_str(), 0600) == 0);  // the command waits for its reader
  std::vector<std::string> command = example_plan_arguments({"--output", output});
  command.insert(command.begin(), NEUROSHARD_COMMAND);
  Process timed_out(command, {});
  Process stopped(command, {});
  const auto send = [](const Process& process, int after_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    process.send_signal(SIGTERM);
  };
  wait_until_written(stopped);
  wait_until_written(timed_out);
  send(stopped, 0);
  send(timed_out, 0);
  send(timed_out, 5);
  send(stopped, 550);
  BOOST_TEST(stopped.wait().exit_code == 128 + SIGTERM);
  const int reader = open(output.c_str(), O_RDONLY | O_NONBLOCK);
  BOOST_TEST(timed_out.wait().exit_code == 0);
  char start = 0;
  BOOST_TEST(read(reader, &start, 1) == 1);
  BOOST_TEST(start == '{');
  close(reader);
}

BOOST_AUTO_TEST_CASE(signals_that_were_ignored_stay_ignored) {
  // As a shell starts background jobs.
  const Outcome outcome = shell(
      "trap '' INT; neuroshard plan --tables " + source_file("examples/dlrm_dcnv2.json") +
      " --devices 8 --device-memory 80GB --time-limit 0.7 --output - & sleep 0.3; kill -INT $!; "
      "wait $!");
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(!contains(outcome.err, "interrupted"), outcome.err);
}

BOOST_AUTO_TEST_CASE(an_interrupted_comparison_compares_no_search_that_was_cut_short) {
  const TemporaryFolder folder;
  const std::string tables = folder.file("tables.json");
  BOOST_TEST_REQUIRE(
      run_command({"tables", "generate", "--count", "100", "--seed", "1", "--output", tables})
          .exit_code == 0);
  const std::string output = folder.file("compare.json");
  const std::string tasks = folder.file("tasks");
  BOOST_TEST_REQUIRE(mkfifo(tasks.c_str(), 0600) == 0);
  // The only search of the only task, so that nothing follows that would fail for want of time.
  Process process({NEUROSHARD_COMMAND, "compare", "--tables", tables, "--tasks", tasks, "--devices",
                   "4", "--device-memory", "8GiB", "--algorithms", "refine", "--time-limit", "60",
                   "--output", output},
                  {});
  std::ofstream(tasks) << "1,2,3,4,5,6 8,8,8,8,8,8\n";  // waits for the command to open it
  wait_until_caught(process, SIGINT);
  process.send_signal(SIGINT);
  const Outcome outcome = process.wait();
  BOOST_TEST(outcome.exit_code == 1);
  BOOST_TEST(outcome.out.empty());
  BOOST_TEST(contains(outcome.err, "interrupted in task 1 of 1, no comparison made"), outcome.err);
  BOOST_TEST(!std::filesystem::exists(output));
}

BOOST_AUTO_TEST_CASE(an_interrupted_sweep_shows_the_clusters_that_it_has_done) {
  // One device has one plan, at the lower bound; more are searched for until time ends that.
  const TemporaryFolder folder;
  const std::string output = folder.file("sweep.json");
  const auto interrupted = [&](const std::string& devices) {
    Process process(
        {NEUROSHARD_COMMAND, "sweep", "--tables", source_file("examples/dlrm_dcnv2.json"),
         "--devices", devices, "--device-memory", "4TB", "--cost-model", "torchrec", "--time-limit",
         "60", "--output", output},
        {});
    wait_until_caught(process, SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    process.send_signal(SIGINT);
    return process.wait();
  };
  const Outcome none = interrupted("8");
  BOOST_TEST(none.exit_code == 1);
  BOOST_TEST(none.out.empty());
  BOOST_TEST(contains(none.err, "interrupted in cluster 1 of 1, no plan made"), none.err);
  BOOST_TEST(!std::filesystem::exists(output));
  const Outcome some = interrupted("1,8");
  if (some.exit_code == 1) {  // not even one device done
    BOOST_TEST(contains(some.err, "interrupted in cluster 1 of 2, no plan made"), some.err);
  } else {
    BOOST_TEST(some.exit_code == 0, some.err);
    BOOST_TEST(some.err == "interrupted in cluster 2 of 2: those before it are shown\n");
    BOOST_TEST(!contains(slurp(output), "\"devices\": 8"));
  }
}

BOOST_AUTO_TEST_SUITE_END()
