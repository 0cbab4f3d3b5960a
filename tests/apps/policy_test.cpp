// Policies made and used by the real command: one is trained, plans, is compared and evaluated, and
// whatever is wrong is one line.
#include <sys/stat.h>

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

BOOST_AUTO_TEST_SUITE(policy)

namespace {

namespace json = boost::json;
using neuroshard::test::expect_one_line;
using neuroshard::test::generated_pool;
using neuroshard::test::kSanitized;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::Process;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::split_words;
using neuroshard::test::TemporaryFolder;

/// A pool and a policy that was trained on it in a moment.
struct Trained {
  Trained() : pool(generated_pool(folder)), policy(folder.file("p.safetensors")) {
    const Outcome outcome = train("--updates 20 --report " + folder.file("r.json"));
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  }
  [[nodiscard]] Outcome train(const std::string& more) const {
    return run_command(split_words("train policy --tables " + pool + " --cost-model h100_sim " +
                                   "--device-memory 40GB --devices 4,2 --task-tables 5,15 " +
                                   "--output " + policy + " " + more));
  }
  [[nodiscard]] Outcome plan(const std::string& more) const {
    return run_command(split_words("plan --tables " + pool + " --devices 4 --device-memory 40GB " +
                                   "--cost-model h100_sim " + more));
  }

  /// Those algorithms on tasks of the pool, by the policy.
  [[nodiscard]] Outcome compare(const std::string& algorithms) const {
    return run_command(
        split_words("compare --tables " + pool + " --tasks " + source_file("examples/tasks.txt") +
                    " --devices 4 --device-memory 8GiB --cost-model h100_sim " + "--policy " +
                    policy + " --output - --algorithms " + algorithms));
  }

  TemporaryFolder folder;
  std::string pool;
  std::string policy;
};

const Trained& trained() {
  static const Trained one;
  return one;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_training_writes_a_policy_and_says_how_it_went) {
  const json::object report = parsed(slurp(trained().folder.file("r.json")));
  BOOST_TEST(report.at("format").as_string() == "neuroshard-policy-training");
  BOOST_TEST(report.at("cost_model").as_string() == "h100_sim");
  BOOST_TEST(report.at("cost_provenance").as_string() == "simulated");
  BOOST_TEST(report.at("options").at("updates").as_int64() == 20);
  BOOST_TEST((report.at("options").at("devices") == json::array{2, 4}));
  BOOST_TEST(report.at("training_tables").as_int64() + report.at("held_out_tables").as_int64() ==
             100);
  BOOST_TEST(report.at("curve").as_array().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_policy_plans_and_more_samples_cost_no_more) {
  const auto planned = [](const std::string& more) {
    const Outcome outcome = trained().plan("--algorithm dreamshard --policy " + trained().policy +
                                           " --output - " + more);
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
    const json::object plan = parsed(outcome.out);
    BOOST_TEST(plan.at("provenance").at("algorithm").as_string() == "dreamshard");
    return plan.at("cost_ms").as_double();
  };
  BOOST_TEST(planned("--samples 20 --threads 2") <= planned(""));
}

BOOST_AUTO_TEST_CASE(a_policy_plans_for_a_trainer) {
  const Outcome outcome = run_command(split_words(
      "plan --tables " + source_file("examples/dlrm_dcnv2.json") +
      " --devices 8 --device-memory 80GB --cost-model h100_sim --algorithm dreamshard --policy " +
      trained().policy + " --target torchrec --format torchrec --output -"));
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
}

BOOST_AUTO_TEST_CASE(a_comparison_has_a_policy_among_the_algorithms) {
  const Outcome outcome = trained().compare("random,dreamshard --samples 2");
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  const json::object report = parsed(outcome.out);
  BOOST_TEST(report.at("summary").as_object().contains("dreamshard"));
}

BOOST_AUTO_TEST_CASE(an_evaluation_has_the_policy_beside_other_algorithms) {
  const Outcome outcome = run_command(
      split_words("evaluate policy --policy " + trained().policy + " --tables " + trained().pool +
                  " --devices 4 --device-memory 40GB --tasks 3 --samples 2 --profile H100-80G " +
                  "--output -"));
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.find("was trained on 85 of these 100 tables") != std::string::npos,
             outcome.err);
  const json::object report = parsed(outcome.out);
  BOOST_TEST(report.at("cost_model").as_string() == "h100_sim");
  std::vector<std::string> names;
  for (const json::value& one : report.at("algorithms").as_array()) {
    names.emplace_back(one.at("algorithm").as_string());
    BOOST_TEST(one.at("cost_ms").as_double() > 0);
    BOOST_TEST(one.at("simulated_ms").as_double() > 0);
    BOOST_TEST(one.at("compute_ms").as_double() <= one.at("cost_ms").as_double());
    BOOST_TEST(one.at("balance").as_double() > 0);
    BOOST_TEST(one.at("balance").as_double() <= 1);
    BOOST_TEST(one.at("least_over_largest").as_double() <= one.at("balance").as_double());
  }
  BOOST_TEST(names == (std::vector<std::string>{"random", "size-greedy", "dim-greedy",
                                                "lookup-greedy", "size-lookup-greedy", "neuroshard",
                                                "dreamshard", "dreamshard", "refine"}));
}

BOOST_AUTO_TEST_CASE(what_a_policy_was_not_trained_for_gets_a_remark) {
  const Outcome outcome = run_command(split_words(
      "plan --tables " + trained().pool + " --devices 8 --device-memory 40GB " +
      "--cost-model h200_sim --algorithm dreamshard --output - --policy " + trained().policy));
  BOOST_TEST(outcome.exit_code == 0);
  const std::vector<std::string> lines = lines_of(outcome.err);
  BOOST_REQUIRE(lines.size() == 2u);
  BOOST_TEST(lines[0] ==
             "p.safetensors: was trained by the cost model h100_sim, here it is h200_sim");
  BOOST_TEST(lines[1].find("what it does with 100 tables on 8 devices is not known") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_recurrent_policy_plans_by_its_own_algorithm_alone) {
  const TemporaryFolder folder;
  const std::string policy = folder.file("a.safetensors");
  const Outcome training = run_command(split_words(
      "train policy --kind autoshard --tables " + trained().pool +
      " --cost-model h100_sim --device-memory 40GB --devices 4 --task-tables 5,15 " + "--updates " +
      neuroshard::test::unless_sanitized("20", "4") + " --output " + policy));
  BOOST_TEST_REQUIRE(training.exit_code == 0, training.err);
  BOOST_TEST(training.out.find("largest compute over the mean") != std::string::npos);
  const Outcome planned = trained().plan("--algorithm autoshard --output - --policy " + policy);
  BOOST_TEST_REQUIRE(planned.exit_code == 0, planned.err);
  BOOST_TEST(parsed(planned.out).at("provenance").at("algorithm").as_string() == "autoshard");
  expect_one_line(trained().plan("--algorithm dreamshard --policy " + policy), 2,
                  "expected one of kind dreamshard for the algorithm dreamshard");
  expect_one_line(trained().plan("--algorithm autoshard --policy " + trained().policy), 2,
                  "expected one of kind autoshard for the algorithm autoshard");
}

BOOST_AUTO_TEST_CASE(surrogate_costs_begin_at_random_or_with_a_policy_of_any_kind) {
  const auto planned = [](const std::string& more) {
    const Outcome outcome = trained().plan("--algorithm surco --output - " + more);
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
    const json::object plan = parsed(outcome.out);
    BOOST_TEST(plan.at("provenance").at("algorithm").as_string() == "surco");
    return plan.at("cost_ms").as_double();
  };
  const std::string policy = " --policy " + trained().policy;
  BOOST_TEST(planned("--evaluations 1" + policy) != planned("--evaluations 1"));
  BOOST_TEST(planned(policy) <= planned("--evaluations 1" + policy));
  BOOST_TEST(planned("--threads 2") == planned("--threads 1"));
  BOOST_TEST(planned("--seed 3") != planned("--seed 4"));
  BOOST_TEST(trained()
                 .plan("--algorithm surco --samples 3")
                 .err.find("--samples: changes nothing, only dreamshard, autoshard go by it") !=
             std::string::npos);
  expect_one_line(trained().plan("--algorithm surco --policy " + trained().pool), 2,
                  "expected a safetensors file");
  expect_one_line(trained().plan("--algorithm surco --policy none.safetensors"), 2,
                  "none.safetensors");
  const Outcome compared = trained().compare("random,dreamshard,surco");
  BOOST_TEST_REQUIRE(compared.exit_code == 0, compared.err);
  BOOST_TEST(parsed(compared.out).at("summary").as_object().contains("surco"));
}

BOOST_AUTO_TEST_CASE(a_training_goes_on_from_its_checkpoint_and_from_no_other) {
  const TemporaryFolder folder;
  const std::string state = folder.file("c.safetensors");
  const auto again = [&](const std::string& more) {
    return run_command(split_words("train policy --tables " + trained().pool +
                                   " --cost-model h100_sim --device-memory 40GB --devices 4,2 " +
                                   "--task-tables 5,15 --output " + folder.file("p.safetensors") +
                                   " --checkpoint " + state + " " + more));
  };
  // Ended at once; what it goes on to is the policy that was trained in one go.
  BOOST_TEST(again("--updates 20 --time-limit 0.2").exit_code == 0);
  const Outcome whole = again("--updates 20");
  BOOST_TEST_REQUIRE(whole.exit_code == 0, whole.err);
  BOOST_TEST(whole.err.find("goes on from " + state + ", after ") != std::string::npos, whole.err);
  BOOST_TEST(slurp(folder.file("p.safetensors")) == slurp(trained().policy));
  expect_one_line(again("--updates 30"), 2, "updates: found '20', expected '30'");
  expect_one_line(again("--updates 20 --seed 1"), 2, "seed: found '0', expected '1'");
}

BOOST_AUTO_TEST_CASE(flags_of_joint_training_belong_together) {
  const auto joint = [](const std::string& flags) {
    return run_command(split_words("train policy --tables " + trained().pool +
                                   " --output x.safetensors --devices 2 --device-memory 1GB " +
                                   flags));
  };
  expect_one_line(joint("--plans 200"), 2, "--plans: found without --joint");
  expect_one_line(joint("--joint c --cost-model h100_sim"), 2,
                  "--cost-model: found with --joint, expected without");
  expect_one_line(joint("--joint c"), 2, "found no --profile, expected one of");
  expect_one_line(joint("--joint c --backend cpu --profile H100-80G"), 2,
                  "--profile: found with --backend cpu");
  expect_one_line(joint("--joint c --profile H100-80G --runs 3"), 2,
                  "--runs: found with --backend sim, expected with cpu");
  expect_one_line(joint("--joint c --profile H100-80G --plans 99"), 2, "--plans: found '99'");
}

BOOST_AUTO_TEST_CASE(a_joint_training_goes_on_from_its_checkpoint_and_from_no_other) {
  if (kSanitized) return;  // as below
  const TemporaryFolder folder;
  const std::string policy = folder.file("p.safetensors");
  const std::string costs = folder.file("c.safetensors");
  const std::string state = folder.file("s.safetensors");
  const auto train = [&](const std::string& more) {
    return run_command(split_words("train policy --tables " + trained().pool + " --joint " + costs +
                                   " --device-memory 40GB --devices 2 --task-tables 4,8 " +
                                   "--updates 20 --output " + policy + " " + more));
  };
  const std::string simulated = "--profile H100-80G ";
  const Outcome whole = train(simulated);
  BOOST_TEST_REQUIRE(whole.exit_code == 0, whole.err);
  const std::string bytes = slurp(policy) + slurp(costs);
  // Ended as soon as there are networks.
  const Outcome ended = train(simulated + "--time-limit 0.001 --checkpoint " + state);
  BOOST_TEST_REQUIRE(ended.exit_code == 0, ended.err);
  BOOST_TEST(ended.err.find("stopped early") != std::string::npos, ended.err);
  BOOST_TEST((slurp(policy) + slurp(costs) != bytes));
  const std::string checkpoint = " --checkpoint " + state;
  expect_one_line(train("--profile A100-80G" + checkpoint), 2, "hardware: found 'H100-80G");
  expect_one_line(train("--profile H100-80G --plans 200" + checkpoint), 2,
                  "plans: found '100', expected '200'");
  expect_one_line(train("--backend cpu" + checkpoint), 2,
                  "backend: found 'sim', expected 'cpu', as in this training");
  expect_one_line(train(simulated + "--checkpoint -"), 2,
                  "--checkpoint: found '-', expected a file");
  const std::string pipe = folder.file("pipe");
  BOOST_TEST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  expect_one_line(train(simulated + "--checkpoint " + pipe), 2,
                  "pipe: found no regular file, expected one");
  expect_one_line(train(simulated + "--checkpoint " + trained().policy), 2,
                  "metadata format: found 'neuroshard-policy'");
  const Outcome rest = train(simulated + checkpoint);
  BOOST_TEST_REQUIRE(rest.exit_code == 0, rest.err);
  BOOST_TEST(rest.err.find("goes on from " + state +
                           ", after 10 of 100 plans and 0 of 320 steps") != std::string::npos,
             rest.err);
  BOOST_TEST((slurp(policy) + slurp(costs) == bytes));
}

BOOST_AUTO_TEST_CASE(a_policy_and_its_costs_come_of_measured_plans) {
  // Takes sanitizers most of a minute; what it trains, they see in tests/policy.
  if (kSanitized) return;
  const TemporaryFolder folder;
  const std::string policy = folder.file("p.safetensors");
  const std::string costs = folder.file("c.safetensors");
  const Outcome outcome = run_command(
      split_words("train policy --tables " + trained().pool + " --joint " + costs +
                  " --profile H100-80G --device-memory 40GB --devices 2 --task-tables 4,8 " +
                  "--updates 20 --output " + policy + " --report " + folder.file("r.json")));
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  const json::object report = parsed(slurp(folder.file("r.json")));
  BOOST_TEST(report.at("cost_model").as_string() == "c.safetensors");
  const json::array& rounds = report.at("measured_rounds").as_array();
  BOOST_TEST_REQUIRE(rounds.size() == 10u);
  BOOST_TEST(rounds[0].at("error").is_null());
  BOOST_TEST(rounds[9].at("plans").as_int64() == 100);
  const Outcome planned = run_command(split_words(
      "plan --tables " + trained().pool + " --devices 4 --device-memory 40GB " + "--cost-model " +
      costs + " --algorithm dreamshard --output - --policy " + policy));
  BOOST_TEST(planned.exit_code == 0, planned.err);
  BOOST_TEST(planned.err.find("was trained by the cost model") == std::string::npos);
  // The simulation of an H100 was held against published measurements, whatever was learned of it.
  BOOST_TEST(planned.out.find("never held against") == std::string::npos);
  BOOST_TEST(slurp(costs).find("published_basis") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_one_line) {
  expect_one_line(trained().plan("--algorithm dreamshard"), 2, "--policy: found none, expected");
  expect_one_line(trained().plan("--algorithm dreamshard --policy " + trained().pool), 2,
                  "expected a safetensors file");
  expect_one_line(trained().train("--kind other"), 2, "--kind: found 'other'");
  const auto with = [](const std::string& flags) {
    return run_command(split_words("train policy --tables " + trained().pool +
                                   " --output x.safetensors " + flags));
  };
  expect_one_line(with("--devices 2,2 --device-memory 1GB"), 2, "--devices");
  expect_one_line(with("--devices 2 --device-memory 1GB --task-tables 5"), 2,
                  "--task-tables: found 5, expected the least and the most");
  expect_one_line(with("--devices 2 --device-memory 1GB --task-tables 60,70"), 2,
                  "tables: found 100, expected 120 at least");
  expect_one_line(with("--devices 2 --device-memory 1KB"), 2, "device memory: found 1000 B");
}

BOOST_AUTO_TEST_CASE(flags_of_policies_change_nothing_for_other_algorithms_and_say_so) {
  const Outcome outcome =
      trained().plan("--algorithm size-greedy --output - --policy " + trained().policy);
  BOOST_TEST(outcome.exit_code == 0);
  expect_one_line(outcome, 0,
                  "--policy: changes nothing, only dreamshard, autoshard, surco go by it");
}

#ifndef NEUROSHARD_SANITIZED
BOOST_AUTO_TEST_CASE(an_interrupted_training_writes_the_best_policy_so_far) {
  const TemporaryFolder folder;
  const std::string policy = folder.file("p.safetensors");
  Outcome outcome;
  // Longer on slow machines, where there is no policy to begin with for so long.
  for (const int seconds : {3, 12, 48}) {
    Process process(
        split_words(std::string(NEUROSHARD_COMMAND) + " train policy --tables " + trained().pool +
                    " --cost-model h100_sim --device-memory 40GB " +
                    "--devices 2 --task-tables 5,10 --updates 1000000 --output " + policy),
        {});
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    process.send_signal(SIGINT);
    outcome = process.wait();
    if (outcome.exit_code == 0) break;
    BOOST_TEST(outcome.err.find("interrupted, no policy written") != std::string::npos);
  }
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.find("stopped early: this is the best policy so far") !=
             std::string::npos);
  BOOST_TEST(slurp(policy).find("\"stopped_early\": \"true\"") != std::string::npos);
  BOOST_TEST(trained().plan("--algorithm dreamshard --policy " + policy).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(a_time_limit_ends_a_training_and_the_policy_says_so) {
  const TemporaryFolder folder;
  const std::string policy = folder.file("p.safetensors");
  const Outcome outcome = run_command(
      split_words("train policy --tables " + trained().pool + " --cost-model h100_sim " +
                  "--device-memory 40GB --devices 2 --task-tables 5,10 --updates 1000000 " +
                  "--time-limit 2 --output " + policy));
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.find("stopped early") != std::string::npos);
  BOOST_TEST(slurp(policy).find("\"stopped_early\": \"true\"") != std::string::npos);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
