// Searches keep to the memory of devices with what a step keeps there beside the tables.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>

#include "engine/core/bytes.h"
#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(buffered_plans)

namespace {

constexpr std::int32_t kDevices = 4;

/// Tables that are small beside what their lookups take, and others; all kinds of shards and
/// kernels.
Workload random_workload(Rng& rng) {
  Workload workload;
  for (int index = 0; index < 12; ++index) {
    Table table;
    table.name = std::to_string(index);
    table.rows = std::int64_t{1} << rng.between(2, 18);
    table.dim = static_cast<std::int32_t>(4 * rng.between(1, 32));
    table.pooling_factor = static_cast<double>(rng.between(1, 30));
    table.optimizer = rng.below(2) == 0 ? Optimizer::kSgd : Optimizer::kRowwiseAdagrad;
    table.reuse_histogram[0] = 1;
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

PlanOptions few_evaluations(const std::string& algorithm) {
  PlanOptions options;
  options.algorithm = algorithm;
  options.evaluations = test::unless_sanitized(2000, 500);
  options.row_splits = RowSplits::kAny;
  options.data_parallel = true;
  return options;
}

std::int64_t fullest(const Workload& workload, const Plan& plan, StepBuffers buffers) {
  const auto bytes = device_bytes(workload, plan, buffers);
  return *std::max_element(bytes.begin(), bytes.end());
}

/// The memory that a refusal says would do, or 0.
std::int64_t proposed_memory(const std::string& message) {
  const std::size_t end = message.find(" of memory per device would do");
  const std::size_t other = message.find(" of memory per device");
  const std::size_t last = std::min(end, other);
  if (last == std::string::npos || message.find("would do") == std::string::npos) return 0;
  const std::size_t begin = message.rfind(' ', last - 1) + 1;
  return parse_bytes(message.substr(begin, last - begin)).value();
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_plan_is_beyond_the_memory_and_refusals_say_what_would_do) {
  Rng rng(1);
  int plans = 0;
  int followed = 0;
  for (const std::string model : {"h200_sim", "torchrec"}) {
    const auto models = load_cost_models(model);
    BOOST_REQUIRE(models.ok());
    for (int round = 0; round < 12; ++round) {
      const auto buffers = all_step_buffers()[1 + rng.below(3)];
      const Workload workload = random_workload(rng);
      const StepMemory step{buffers, workload.batch_size, kDevices};
      const std::int64_t memory = workload_bytes(workload, step) / kDevices *
                                  static_cast<std::int64_t>(rng.between(95, 150)) / 100;
      for (const std::string algorithm : {"size-greedy", "neuroshard", "refine"}) {
        const PlanOptions options = few_evaluations(algorithm);
        const auto found =
            make_plan(workload, {kDevices, memory, 0, buffers}, models->models, options);
        if (found.ok()) {
          ++plans;
          BOOST_TEST(fullest(workload, found->plan, buffers) <= memory, model << ", " << algorithm);
          BOOST_TEST(found->cost.per_device.size() == 4U);
          const auto bytes = device_bytes(workload, found->plan, buffers);
          for (std::size_t d = 0; d < bytes.size(); ++d) {
            BOOST_TEST(found->cost.per_device[d].memory_bytes == bytes[d]);
          }
          continue;
        }
        const std::string& message = found.status().message();
        BOOST_REQUIRE_MESSAGE(found.status().code() == StatusCode::kInfeasible, message);
        const std::int64_t enough = proposed_memory(message);
        if (enough == 0) continue;
        ++followed;
        BOOST_TEST(
            make_plan(workload, {kDevices, enough, 0, buffers}, models->models, options).ok(),
            message);
      }
    }
  }
  BOOST_TEST(plans > 30);
  BOOST_TEST(followed > 5);
}

BOOST_AUTO_TEST_CASE(what_lookups_leave_no_room_for_goes_to_the_host) {
  Rng rng(2);
  const auto models = load_cost_models("torchrec");
  constexpr StepBuffers kPrefetch = StepBuffers::kTrainPrefetchSparseDist;
  const Workload workload = random_workload(rng);
  const StepMemory step{kPrefetch, workload.batch_size, kDevices};
  std::int64_t buffers = 0;
  for (const Table& table : workload.tables) {
    buffers += buffer_bytes(table, {.rows = table.rows, .dim = table.dim}, step);
  }
  const PlanOptions options = few_evaluations("refine");
  Cluster cluster{kDevices, 0, std::int64_t{1} << 40, kPrefetch};
  cluster.memory_bytes = (buffers + workload_bytes(workload, step)) / 2 / kDevices;
  const auto found = make_plan(workload, cluster, models->models, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(has_offloaded(found->plan));
  BOOST_TEST(fullest(workload, found->plan, kPrefetch) <= cluster.memory_bytes);
  // No memory of hosts helps where the devices have none for what has to be on them.
  cluster.memory_bytes = buffers / kDevices / 2;
  const auto refused = make_plan(workload, cluster, models->models, options);
  BOOST_TEST((refused.status().code() == StatusCode::kInfeasible));
  BOOST_TEST(refused.status().message().find("the buffers of a step need ") != std::string::npos,
             refused.status().message());
}

BOOST_AUTO_TEST_CASE(replanning_keeps_to_the_memory) {
  Rng rng(3);
  const auto models = load_cost_models("h200_sim");
  int replanned = 0;
  for (int round = 0; round < 6; ++round) {
    const Workload workload = random_workload(rng);
    constexpr StepBuffers kBase = StepBuffers::kTrainBase;
    const std::int64_t memory =
        workload_bytes(workload, {kBase, workload.batch_size, kDevices}) * 7 / 5 / kDevices;
    PlanOptions options = few_evaluations("size-greedy");
    const auto now = make_plan(workload, {kDevices, memory, 0, kBase}, models->models, options);
    if (!now.ok()) continue;
    ++replanned;
    const std::int64_t tight = (fullest(workload, now->plan, kBase) + memory) / 2;
    const auto next = replan(workload, {kDevices, tight, 0, kBase}, models->models, now->plan,
                             {.bytes = workload_bytes(workload) / 4}, options);
    BOOST_REQUIRE_MESSAGE(next.ok(), next.status().message());
    BOOST_TEST(fullest(workload, next->plan, kBase) <= tight);
    BOOST_TEST(next->cost.cost_ms <= now->cost.cost_ms);
  }
  BOOST_TEST(replanned > 2);
}

BOOST_AUTO_TEST_CASE(a_table_that_fits_on_every_device_alone_is_planned_so) {
  // Each device looks up its own part of the batch: a replica takes less than the table on one.
  Workload workload;
  workload.batch_size = 10'000;
  workload.tables.push_back({.name = "t", .rows = 20'000, .dim = 96, .pooling_factor = 32});
  workload.tables[0].reuse_histogram[0] = 1;
  workload.tables[0].sharding.min_columns = 64;
  constexpr StepBuffers kSparse = StepBuffers::kTrainSparseDist;
  PlanOptions options = few_evaluations("refine");
  options.row_splits = RowSplits::kOff;
  const auto models = load_cost_models("torchrec");
  const std::int64_t replica = 20'000 * 96 * 4 + 2 * 10'000 * 32 * 8 / kDevices;
  BOOST_TEST(replica < table_bytes(workload.tables[0], {kSparse, workload.batch_size, kDevices}));
  const auto found = make_plan(workload, {kDevices, replica, 0, kSparse}, models->models, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(found->plan.shards.front().device == kEveryDevice);
  const auto refused =
      make_plan(workload, {kDevices, replica - 1, 0, kSparse}, models->models, options);
  BOOST_TEST(proposed_memory(refused.status().message()) >= replica, refused.status().message());
}

// 271 rows in eighths are 34 seven times and 33, which are the even blocks of a host of 8 devices,
// too, but not of all 40, of which the last would have none.
BOOST_AUTO_TEST_CASE(halved_rows_may_be_the_blocks_of_a_host) {
  struct Small {
    std::int64_t rows;
    std::int32_t dim;
    double pooling_factor;
  };
  Workload workload;
  for (const Small& own : {Small{16049, 64, 0.4}, Small{54255, 64, 22.9}, Small{31015, 5, 17},
                           Small{17, 64, 0.4}, Small{271, 128, 16}}) {
    Table table;
    table.rows = own.rows;
    table.dim = own.dim;
    table.pooling_factor = own.pooling_factor;
    workload.tables.push_back(std::move(table));
  }
  workload.batch_size = 65536;
  workload.tables[0].data_type = DataType::kInt8;
  workload.tables[1].optimizer = Optimizer::kPartialRowwiseAdam;
  const CostModels models = load_shipped_models("h200_sim").value().models;
  PlanOptions options;
  options.evaluations = 1000;
  const Cluster cluster{40, 2264401, 0, StepBuffers::kTrainSparseDist};
  const auto found = make_plan(workload, cluster, models, options);
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(validate(workload, found->plan).ok());
  BOOST_TEST(fullest(workload, found->plan, cluster.buffers) <= cluster.memory_bytes);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
