// Comparisons of algorithms over tasks: tables for people, JSON for programs, and what they say of
// algorithms that did not take a task.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/apps/json_output.h"
#include "tests/apps/process.h"

namespace {

namespace json = boost::json;
using neuroshard::test::generated_pool;
using neuroshard::test::Keys;
using neuroshard::test::keys_of;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

}  // namespace

BOOST_AUTO_TEST_SUITE(compare)

BOOST_AUTO_TEST_CASE(a_comparison_holds_every_algorithm_on_every_task) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_command({"compare", "--tables", generated_pool(folder), "--tasks",
                   source_file("examples/tasks.txt"), "--devices", "4", "--device-memory", "4GiB",
                   "--algorithms", "random,size-greedy,neuroshard", "--output", "-"});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  const json::object report = parsed(outcome.out);
  BOOST_TEST((keys_of(report) == Keys{"devices", "cost_model", "hardware", "cost_provenance",
                                      "algorithms", "tasks", "summary"}));
  BOOST_TEST(report.at("cost_provenance").as_string() == "simulated");
  const Keys algorithms{"random", "size-greedy", "neuroshard"};
  BOOST_TEST((keys_of(report.at("summary")) == algorithms));
  const json::array& tasks = report.at("tasks").as_array();
  BOOST_TEST(tasks.size() == lines_of(slurp(source_file("examples/tasks.txt"))).size());
  for (const json::value& task : tasks) {
    BOOST_TEST((keys_of(task) == Keys{"index", "tables", "results"}));
    BOOST_TEST((keys_of(task.at("results")) == algorithms));
    for (const auto& member : task.at("results").as_object()) {
      Keys expected{"feasible", "cost_ms", "seconds", "shards", "per_device"};
      if (member.value().at("feasible").as_bool()) expected.insert("cost_error");
      BOOST_TEST((keys_of(member.value()) == expected));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_comparison_says_how_far_from_the_optimum_plans_are) {
  const TemporaryFolder folder;
  const std::string pool = generated_pool(folder);
  const auto compared = [&](const std::string& algorithms) {
    return run_command({"compare", "--tables", pool, "--tasks",
                        folder.write("tasks.txt", "1,2,3,4,5,6 16,16,32,16,8,4\n"), "--devices",
                        "2", "--device-memory", "64GiB", "--evaluations", "5000", "--algorithms",
                        algorithms})
        .out;
  };
  const std::string with = compared("random,refine,exact");
  const std::size_t row = with.rfind("\nexact ");
  BOOST_TEST_REQUIRE(row != std::string::npos);
  BOOST_TEST(with.substr(row, with.find('\n', row + 1) - row).ends_with("0.000 %"));
  BOOST_TEST(compared("random,refine").find("above exact") == std::string::npos);
  BOOST_TEST(compared("neuroshard").find("\nneuroshard (paper) ") != std::string::npos);
  const std::string cut_short =
      run_command({"compare", "--tables", pool, "--tasks",
                   folder.write("tasks.txt",
                                "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 "
                                "16,16,32,16,8,4,4,4,4,4,4,4,4,4,4,4\n"),
                   "--devices", "3", "--device-memory", "64GiB", "--time-limit", "0.2",
                   "--algorithms", "dim-greedy,exact"})
          .out;
  BOOST_TEST(cut_short.find(" 1/1 ") != std::string::npos, cut_short);  // dim-greedy
  BOOST_TEST(cut_short.find(" 0/1 ") != std::string::npos, cut_short);  // exact
  BOOST_TEST(cut_short.find("\nexact: refused 1 of 1 tasks: the time limit ended it before it had "
                            "seen all plans\n") != std::string::npos,
             cut_short);
}

BOOST_AUTO_TEST_CASE(a_comparison_says_which_algorithm_refused_how_many_tasks_and_why) {
  const TemporaryFolder folder;
  const auto compared = [&](const std::string& tasks, const std::string& output) {
    return run_command({"compare", "--tables", generated_pool(folder), "--tasks",
                        folder.write("tasks.txt", tasks), "--devices", "4", "--device-memory",
                        "64GiB", "--algorithms", "size-greedy,exact", "--output", output});
  };
  const std::string large =
      "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 16,16,32,16,8,4,4,4,4,4,4,4,4,4,4,4,4\n";
  const std::string line =
      "exact: refused 2 of 3 tasks: this algorithm goes through all plans, at ";
  const std::string file = folder.file("compare.json");
  const Outcome shown = compared(large + "1,2 8,8\n" + large, file);
  BOOST_TEST(shown.exit_code == 0, shown.err);
  BOOST_TEST(shown.out.find("\n" + line) != std::string::npos, shown.out);
  BOOST_TEST(shown.out.find("size-greedy: refused") == std::string::npos, shown.out);
  BOOST_TEST(shown.err.empty());
  const Outcome piped = compared(large + "1,2 8,8\n" + large, "-");
  BOOST_TEST(lines_of(piped.err).size() == 1U, piped.err);
  BOOST_TEST(piped.err.starts_with(line), piped.err);
  const json::object refused =
      parsed(piped.out).at("tasks").as_array()[0].at("results").at("exact").as_object();
  BOOST_TEST((keys_of(refused) == Keys{"feasible", "cost_ms", "seconds", "shards", "per_device"}));
  BOOST_TEST(!refused.at("feasible").as_bool());
  BOOST_TEST(compared("1,2 8,8\n", file).out.find("refused") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_no_algorithm_takes_ends_a_comparison_only_where_that_is_every_task) {
  const TemporaryFolder folder;
  const auto compared = [&](const std::string& tasks) {
    return run_command({"compare", "--tables", generated_pool(folder), "--tasks",
                        folder.write("tasks.txt", tasks), "--devices", "4", "--device-memory",
                        "64GiB", "--algorithms", "exact"});
  };
  const std::string large =
      "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 16,16,32,16,8,4,4,4,4,4,4,4,4,4,4,4,4\n";
  const Outcome some = compared(large + "1,2 8,8\n");
  BOOST_TEST(some.exit_code == 0, some.err);
  BOOST_TEST(some.out.find(" 1/2 ") != std::string::npos, some.out);
  BOOST_TEST(some.out.find("\nexact: refused 1 of 2 tasks: this") != std::string::npos, some.out);
  const Outcome none = compared(large + large);
  BOOST_TEST(none.exit_code == 2);
  BOOST_TEST(
      none.err.find("tasks.txt:1: this algorithm goes through all plans") != std::string::npos,
      none.err);
  BOOST_TEST(lines_of(none.err).size() == 1U, none.err);
}

BOOST_AUTO_TEST_CASE(a_task_nobody_can_solve_is_an_outcome_not_an_error) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command({"compare", "--tables", generated_pool(folder), "--tasks",
                                       source_file("examples/tasks.txt"), "--devices", "2",
                                       "--device-memory", "1MiB", "--algorithms", "size-greedy"});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.out.find("0/") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
