// What a step keeps of lookups and outputs counts as memory of the shards, where it is asked for.
#include "engine/core/step_buffers.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/check_step_memory.h"
#include "engine/core/plan.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(step_buffers)

namespace {

constexpr std::int64_t kRows = 1000;
constexpr std::int32_t kDim = 16;
constexpr std::int64_t kBatch = 64;
constexpr std::int64_t kLookups = kBatch * 5 * 8;  // bytes: five a sample
constexpr std::int64_t kOutputs = kBatch * 2 * 4;  // of a column: two features

Workload one_table() {
  Workload workload;
  workload.batch_size = kBatch;
  workload.tables.push_back(
      {.name = "t", .rows = kRows, .dim = kDim, .pooling_factor = 5, .features = 2});
  return workload;
}

/// On four devices.
StepMemory step_of(StepBuffers buffers, const Workload& workload = one_table()) {
  return {buffers, workload.batch_size, 4};
}

/// Without those of the rows.
std::int64_t extra_bytes(const Workload& workload, const ShardShape& shape, StepBuffers buffers) {
  return shard_bytes(workload, shape, step_of(buffers, workload)) - shard_bytes(workload, shape);
}

const ShardShape kWhole{0, kRows, kDim};

}  // namespace

BOOST_AUTO_TEST_CASE(words_are_read_as_they_are_written) {
  for (const StepBuffers buffers : all_step_buffers()) {
    BOOST_TEST((parse_step_buffers(to_string(buffers)).value() == buffers));
  }
  BOOST_TEST(parse_step_buffers("none").status().message() ==
             "buffers 'none', expected 'off', 'train_base', 'train_sparse_dist' or "
             "'train_prefetch_sparse_dist'");
}

BOOST_AUTO_TEST_CASE(pipelines_keep_what_torchrec_says_they_keep) {
  // calculate_pipeline_io_cost() of TorchRec 1.4.
  const std::vector<std::pair<StepBuffers, std::int64_t>> expected{
      {StepBuffers::kOff, 0},
      {StepBuffers::kTrainBase, kLookups + kDim * kOutputs},
      {StepBuffers::kTrainSparseDist, 2 * kLookups},
      {StepBuffers::kTrainPrefetchSparseDist, 3 * kLookups}};
  for (const auto& [buffers, bytes] : expected) {
    BOOST_TEST(extra_bytes(one_table(), kWhole, buffers) == bytes, to_string(buffers));
  }
  constexpr StepBuffers kPrefetch = StepBuffers::kTrainPrefetchSparseDist;
  ShardShape cached = kWhole;
  cached.kernel = {ComputeKernel::kFusedUvmCaching, 0.5};
  BOOST_TEST(extra_bytes(one_table(), cached, kPrefetch) == (3 + 7) * kLookups);
  cached.kernel = {ComputeKernel::kFusedUvm, 0};
  // They stay on the device.
  BOOST_TEST(shard_bytes(one_table(), cached, step_of(kPrefetch)) == 3 * kLookups);
}

BOOST_AUTO_TEST_CASE(shards_have_all_lookups_of_their_rows_and_outputs_of_their_columns) {
  const auto extra = [](const ShardShape& shape) {
    return extra_bytes(one_table(), shape, StepBuffers::kTrainBase);
  };
  BOOST_TEST(extra({0, kRows, 4}) == kLookups + 4 * kOutputs);
  BOOST_TEST(extra({0, kRows / 4, kDim}) == kLookups / 4 + kDim * kOutputs);
  BOOST_TEST(extra({0, 1, kDim}) == kLookups / kRows + 1 + kDim * kOutputs);
  // Each device looks up its own part of the batch.
  BOOST_TEST(extra({0, kRows, kDim, 0, true}) == (kLookups + kDim * kOutputs) / 4);
}

BOOST_AUTO_TEST_CASE(each_lookup_of_a_sequence_is_an_output) {
  Workload workload;
  workload.batch_size = kBatch;
  workload.tables.push_back({.name = "t",
                             .rows = kRows,
                             .dim = kDim,
                             .pooling_factor = 5,
                             .data_type = DataType::kFp16,
                             .pooled = false});
  const std::int64_t outputs = kBatch * 5 * 2 * kDim;  // as wide as the weights are
  BOOST_TEST(extra_bytes(workload, kWhole, StepBuffers::kTrainBase) == kLookups + outputs);
  BOOST_TEST(extra_bytes(workload, {0, kRows / 2, kDim}, StepBuffers::kTrainBase) ==
             (kLookups + outputs) / 2);
}

BOOST_AUTO_TEST_CASE(plans_count_them_on_every_device_of_theirs) {
  const Workload workload = one_table();
  const Plan halves{2, {{0, 0, kRows, 0, 8, 0}, {0, 0, kRows, 8, kDim, 1}}};
  for (const std::int64_t bytes : device_bytes(workload, halves, StepBuffers::kTrainBase)) {
    BOOST_TEST(bytes == kRows * 8 * 4 + kLookups + 8 * kOutputs);
  }
  const Plan replica{2, {{0, 0, kRows, 0, kDim, kEveryDevice}}};
  for (const std::int64_t bytes : device_bytes(workload, replica, StepBuffers::kTrainBase)) {
    BOOST_TEST(bytes == table_bytes(workload.tables[0]) + (kLookups + kDim * kOutputs) / 2);
  }
}

BOOST_AUTO_TEST_CASE(what_counts_is_said_beside_the_bytes) {
  Workload workload = one_table();
  const auto described = [&](StepBuffers buffers) {
    return describe_bytes(workload, step_of(buffers));
  };
  BOOST_TEST(described(StepBuffers::kOff) == "62.5 KiB");
  BOOST_TEST(described(StepBuffers::kTrainBase) == "73.0 KiB with buffers");
  workload.tables[0].optimizer = Optimizer::kAdam;
  BOOST_TEST(described(StepBuffers::kTrainSparseDist) ==
             "192 KiB with optimizer states and buffers");
}

BOOST_AUTO_TEST_CASE(shares_of_rows_are_rounded_up_before_they_are_kept_several_times) {
  Workload workload;
  workload.batch_size = 1000;
  workload.tables.push_back({.name = "t", .rows = 100, .dim = 16, .pooling_factor = 2.5});
  // 34 % of 20,000 bytes, which is no sum of binary fractions.
  BOOST_TEST(extra_bytes(workload, {0, 34, 16}, StepBuffers::kTrainBase) == 6800 + 1000 * 16 * 4);
  workload.batch_size = 1;
  workload.tables[0].pooling_factor = 0.01;
  BOOST_TEST(extra_bytes(workload, {0, 100, 16}, StepBuffers::kTrainSparseDist) == 2);
}

BOOST_AUTO_TEST_CASE(buffers_beyond_what_sums_have_room_for_are_refused) {
  Workload workload = one_table();
  workload.batch_size = std::int64_t{1} << 40;
  BOOST_TEST(check_step_memory(workload, step_of(StepBuffers::kTrainBase, workload)).message() ==
             "tables[0]: buffers 'train_base' of a batch of 1099511627776 may come to 2^62 bytes "
             "in all shards of a plan, expected less");
  // Much, but no plan has that much: sequences, whose outputs go with their rows.
  Workload sequences = one_table();
  sequences.batch_size = 65536;
  sequences.tables[0].dim = 1024;
  sequences.tables[0].pooling_factor = 400;
  sequences.tables[0].pooled = false;
  BOOST_TEST(check_step_memory(sequences, step_of(StepBuffers::kTrainBase, sequences)).ok());
  // Weights alone fit into 63 bits, not beside the buffers of every plan.
  Workload large = one_table();
  large.tables[0].rows = (std::int64_t{1} << 62) / (4 * kDim);
  BOOST_TEST(check_step_memory(large, step_of(StepBuffers::kOff, large)).ok());
  BOOST_TEST(check_step_memory(large, step_of(StepBuffers::kTrainBase, large))
                 .message()
                 .find("together, expected below 2^63 bytes") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
