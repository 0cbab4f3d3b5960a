// In which numbers exchanges travel, through the library: planned with, remembered, and replanned.
#include <string>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

Workload six_tables() {
  Workload workload = must(Workload::create(65536));
  for (const std::string name : {"a", "b", "c", "d", "e", "f"}) {
    BOOST_REQUIRE(
        workload.add({.name = name, .rows = 100000, .dim = 128, .pooling_factor = 10}).ok());
  }
  return workload;
}

Cluster exchanging(std::int32_t forward, std::int32_t backward) {
  return {.devices = 16,
          .memory_bytes = std::int64_t{1} << 34,
          .exchange_forward = forward,
          .exchange_backward = backward};
}

const PlanOptions kFew{.evaluations = 100, .threads = 1};

}  // namespace

BOOST_AUTO_TEST_SUITE(exchange)

BOOST_AUTO_TEST_CASE(plans_cost_and_remember_them) {
  const Planner planner = make_planner();
  const Workload workload = six_tables();
  const Plan plain = must(planner.plan(workload, exchanging(0, 0), kFew));
  BOOST_TEST(plain.info().exchange_forward == NEUROSHARD_EXCHANGE_FP32);
  BOOST_TEST(plain.info().exchange_backward == NEUROSHARD_EXCHANGE_FP32);
  BOOST_TEST(must(plain.export_as(workload)).find("exchange\"") == std::string::npos);
  const Cluster coded = exchanging(NEUROSHARD_EXCHANGE_INT8, NEUROSHARD_EXCHANGE_BF16);
  const Plan plan = must(planner.plan(workload, coded, kFew));
  BOOST_TEST(plan.info().exchange_forward == NEUROSHARD_EXCHANGE_INT8);
  BOOST_TEST(plan.info().exchange_backward == NEUROSHARD_EXCHANGE_BF16);
  BOOST_TEST(plan.info().cost_ms < plain.info().cost_ms);
  const Plan read = must(Plan::parse(must(plan.export_as(workload)), "plan.json"));
  BOOST_TEST(must(planner.simulate(workload, read)).info().cost_ms == plan.info().cost_ms);
  const Plan next = must(planner.replan(workload, exchanging(0, 0), read, 0, kFew));
  BOOST_TEST(next.info().exchange_backward == NEUROSHARD_EXCHANGE_BF16);
  const Plan half = must(planner.plan(workload, exchanging(NEUROSHARD_EXCHANGE_FP16, 0), kFew));
  BOOST_TEST(half.info().exchange_backward == NEUROSHARD_EXCHANGE_FP16);
}

BOOST_AUTO_TEST_CASE(auto_is_never_dearer) {
  const Planner planner = make_planner();
  const Workload workload = six_tables();
  const Plan plain = must(planner.plan(workload, exchanging(0, 0), kFew));
  const Plan any = must(planner.plan(workload, exchanging(NEUROSHARD_EXCHANGE_AUTO, 0), kFew));
  BOOST_TEST(any.info().cost_ms < plain.info().cost_ms);
  BOOST_TEST(any.info().exchange_forward != NEUROSHARD_EXCHANGE_FP32);
  const auto refused =
      planner.replan(workload, exchanging(NEUROSHARD_EXCHANGE_AUTO, 0), any, 0, kFew);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.error().message ==
             "cluster.exchange_forward: found AUTO, expected a format here");
}

BOOST_AUTO_TEST_CASE(others_are_refused) {
  const Planner planner = make_planner();
  const Workload workload = six_tables();
  for (const auto& [forward, backward] : {std::pair{7, 0}, std::pair{-1, 0}, std::pair{0, 2},
                                          std::pair{1, 6}, std::pair{6, 1}, std::pair{1, 7}}) {
    const auto refused = planner.plan(workload, exchanging(forward, backward), kFew);
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST(refused.error().status == NEUROSHARD_INVALID_INPUT);
    BOOST_TEST(refused.error().message.find("cluster.exchange_") == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
