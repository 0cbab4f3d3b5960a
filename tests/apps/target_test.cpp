// plan --target: plans that a trainer runs, whatever file they are in.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

using neuroshard::test::contains;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

}  // namespace

BOOST_AUTO_TEST_SUITE(target)

using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const std::string kTargetEvaluations = neuroshard::test::unless_sanitized("20000", "1000");

class ExamplePlans {
 public:
  Outcome plan(const Words& more) const {
    return run_command(joined({"plan", "--tables", kTables, "--devices", "8", "--device-memory",
                               "80GB", "--evaluations", kTargetEvaluations, "--output", plan_},
                              more));
  }
  Outcome of_plan(const std::string& command, const Words& more) const {
    return run_command(joined({command, "--tables", kTables, "--plan", plan_}, more));
  }

 private:
  inline static const std::string kTables = source_file("examples/dlrm_dcnv2.json");
  TemporaryFolder folder_;
  std::string plan_ = folder_.file("plan.json");
};

BOOST_AUTO_TEST_CASE(a_plan_for_anyone_is_refused_by_trainers_with_a_way_out_that_works) {
  const ExamplePlans plans;
  BOOST_REQUIRE(plans.plan({}).exit_code == 0);
  for (const std::string trainer : {"torchrec", "hugectr"}) {
    BOOST_TEST_CONTEXT(trainer) {
      const Outcome refused = plans.of_plan("export", {"--format", trainer});
      BOOST_TEST(refused.exit_code == 2);
      BOOST_TEST(contains(refused.err, "; plan --target " + trainer + " makes plans that it runs"),
                 refused.err);
    }
  }
  for (const std::string trainer : {"torchrec", "hugectr"}) {
    BOOST_TEST_CONTEXT(trainer) {
      const Outcome made = plans.plan({"--target", trainer});
      BOOST_TEST(made.exit_code == 0, made.err);
      BOOST_TEST(made.err.empty(), made.err);
      BOOST_TEST(plans.of_plan("export", {"--format", trainer}).exit_code == 0);
      BOOST_TEST(plans.of_plan("check", {"--target", trainer}).exit_code == 0);
      BOOST_TEST(plans.of_plan("simulate", {}).exit_code == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_file_for_one_trainer_has_no_plan_for_another) {
  const ExamplePlans plans;
  const Outcome refused = plans.plan({"--target", "hugectr", "--format", "torchrec"});
  BOOST_TEST(refused.exit_code == 2);
  BOOST_TEST(contains(refused.err, "--target: found 'hugectr' with --format torchrec"),
             refused.err);
  BOOST_TEST(plans.plan({"--target", "hugectr", "--format", "hugectr-python"}).exit_code == 0);
  BOOST_TEST(plans.plan({"--target", "hugectr", "--format", "csv"}).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(wider_rows_than_the_target_has_are_told) {
  const ExamplePlans plans;
  const Outcome made = plans.plan({"--target", "torchrec", "--row-splits", "any"});
  BOOST_TEST(made.exit_code == 0);
  BOOST_TEST(contains(made.err, "--row-splits any: torchrec has no place for such"), made.err);
}

BOOST_AUTO_TEST_SUITE_END()
