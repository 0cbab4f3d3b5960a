// What a step keeps beside the tables, through the library: planned with, remembered, and checked.
#include <string>
#include <vector>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

constexpr std::int64_t kBatch = 65536;
constexpr std::int64_t kRowBytes = std::int64_t{1000000} * 128 * 4;
/// Ten lookups of 8 bytes and an output of 128 columns of 4, of every sample.
constexpr std::int64_t kBufferBytes = kBatch * (10 * 8 + 128 * 4);

Workload two_tables() {
  Workload workload = must(Workload::create(kBatch));
  for (const std::string name : {"a", "b"}) {
    BOOST_REQUIRE(
        workload.add({.name = name, .rows = 1000000, .dim = 128, .pooling_factor = 10}).ok());
  }
  return workload;
}

Cluster devices_with(std::int64_t bytes, std::int32_t buffers) {
  return {.devices = 2, .memory_bytes = bytes, .buffers = buffers};
}

const PlanOptions kWhole{.algorithm = "size-greedy", .threads = 1};

}  // namespace

BOOST_AUTO_TEST_SUITE(buffers)

BOOST_AUTO_TEST_CASE(plans_count_and_remember_them) {
  const Planner planner = make_planner();
  const Workload workload = two_tables();
  const Cluster none = devices_with(kRowBytes, NEUROSHARD_BUFFERS_DEFAULT);
  const Plan plain = must(planner.plan(workload, none, kWhole));
  BOOST_TEST(plain.info().buffers == NEUROSHARD_BUFFERS_OFF);
  BOOST_TEST(plain.device_costs()[0].memory_bytes == kRowBytes);
  BOOST_TEST(must(plain.export_as(workload)).find("buffers") == std::string::npos);

  const Result<Plan> refused =
      planner.plan(workload, devices_with(kRowBytes, NEUROSHARD_BUFFERS_TRAIN_BASE), kWhole);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.error().status == NEUROSHARD_INFEASIBLE);
  const Cluster enough = devices_with(kRowBytes + kBufferBytes, NEUROSHARD_BUFFERS_TRAIN_BASE);
  const Plan plan = must(planner.plan(workload, enough, kWhole));
  BOOST_TEST(plan.info().buffers == NEUROSHARD_BUFFERS_TRAIN_BASE);
  BOOST_TEST(plan.device_costs()[1].memory_bytes == kRowBytes + kBufferBytes);
  BOOST_TEST(must(planner.simulate(workload, plan)).device_costs()[1].memory_bytes ==
             kRowBytes + kBufferBytes);
  const Plan read = must(Plan::parse(must(plan.export_as(workload)), "plan.json"));
  BOOST_TEST(read.info().buffers == NEUROSHARD_BUFFERS_TRAIN_BASE);
  const Plan next = must(
      planner.replan(workload, devices_with(kRowBytes + kBufferBytes, NEUROSHARD_BUFFERS_DEFAULT),
                     read, 0, {.evaluations = 100, .threads = 1}));
  BOOST_TEST(next.info().buffers == NEUROSHARD_BUFFERS_TRAIN_BASE);
}

BOOST_AUTO_TEST_CASE(checks_count_them_as_the_cluster_says_or_the_plan) {
  const Planner planner = make_planner();
  const Workload workload = two_tables();
  const Cluster enough = devices_with(kRowBytes + kBufferBytes, NEUROSHARD_BUFFERS_TRAIN_BASE);
  const Plan plan = must(planner.plan(workload, enough, kWhole));
  const auto check = [&](std::int64_t bytes, std::int32_t buffers) {
    const Result<void> checked = plan.check(workload, devices_with(bytes, buffers));
    return checked.ok() ? NEUROSHARD_OK : checked.error().status;
  };
  BOOST_TEST(check(kRowBytes, NEUROSHARD_BUFFERS_OFF) == NEUROSHARD_OK);
  BOOST_TEST(check(kRowBytes, NEUROSHARD_BUFFERS_DEFAULT) == NEUROSHARD_INFEASIBLE);
  BOOST_TEST(check(kRowBytes + kBufferBytes, NEUROSHARD_BUFFERS_DEFAULT) == NEUROSHARD_OK);
  // Lookups of two batches and no outputs.
  const std::int64_t twice = kRowBytes + 2 * kBatch * 10 * 8;
  BOOST_TEST(check(twice, NEUROSHARD_BUFFERS_TRAIN_SPARSE_DIST) == NEUROSHARD_OK);
  BOOST_TEST(check(twice - 1, NEUROSHARD_BUFFERS_TRAIN_SPARSE_DIST) == NEUROSHARD_INFEASIBLE);
  BOOST_TEST(check(twice, NEUROSHARD_BUFFERS_TRAIN_PREFETCH_SPARSE_DIST) == NEUROSHARD_INFEASIBLE);
  neuroshard_cluster reserved = devices_with(kRowBytes, NEUROSHARD_BUFFERS_OFF).c_struct();
  reserved.reserved = 1;
  BOOST_TEST(neuroshard_plan_check(plan.get(), workload.get(), &reserved, nullptr) ==
             NEUROSHARD_INVALID_INPUT);
  for (const std::int32_t wrong : {-1, 5}) {
    const Result<void> refused = plan.check(workload, devices_with(kRowBytes, wrong));
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST(refused.error().message == "cluster.buffers: found " + std::to_string(wrong) +
                                              ", expected 0 to 4 (NEUROSHARD_BUFFERS_..)");
  }
}

BOOST_AUTO_TEST_SUITE_END()
