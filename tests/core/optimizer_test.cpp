// What optimizers keep beside the weights counts as memory of the shards.
#include "engine/core/optimizer.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kRows = 1000;
constexpr std::int32_t kDim = 16;

Workload one_table(Optimizer optimizer, DataType type = DataType::kFp32) {
  Workload workload;
  workload.tables.push_back({.name = "t",
                             .rows = kRows,
                             .dim = kDim,
                             .pooling_factor = 1,
                             .data_type = type,
                             .optimizer = optimizer});
  return workload;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer)

BOOST_AUTO_TEST_CASE(states_are_those_of_fbgemm) {
  // Numbers a row and a weight: momentum1 and momentum2 of FBGEMM 1.4's training kernels.
  const std::vector<std::pair<std::string, std::int64_t>> numbers{
      {"sgd", 0},
      {"rowwise_adagrad", 1},
      {"adagrad", kDim},
      {"adam", 2 * kDim},
      {"partial_rowwise_adam", kDim + 1},
      {"lamb", 2 * kDim},
      {"partial_rowwise_lamb", kDim + 1},
      {"lars_sgd", kDim}};
  for (const auto& [word, per_row] : numbers) {
    const Result<Optimizer> parsed = parse_optimizer(word);
    BOOST_REQUIRE(parsed.ok());
    BOOST_TEST(to_string(*parsed) == word);
    BOOST_TEST(state_bytes_per_row(*parsed, kDim) == 4 * per_row);
    BOOST_TEST(table_bytes(one_table(*parsed).tables[0]) == kRows * 4 * (kDim + per_row));
  }
  BOOST_TEST(parse_optimizer("ftrl").status().message() ==
             "optimizer 'ftrl', expected sgd, rowwise_adagrad, adagrad, adam, "
             "partial_rowwise_adam, lamb, partial_rowwise_lamb or lars_sgd");
}

BOOST_AUTO_TEST_CASE(states_are_fp32_beside_fp16_weights) {
  const Workload workload = one_table(Optimizer::kAdam, DataType::kFp16);
  BOOST_TEST(table_bytes(workload.tables[0]) == kRows * kDim * (2 + 8));
  BOOST_TEST(describe_bytes(workload) == "156 KiB with optimizer states");
  BOOST_TEST(describe_bytes(one_table(Optimizer::kSgd)) == "62.5 KiB");
}

BOOST_AUTO_TEST_CASE(numbers_kept_by_row_are_kept_by_every_shard_of_it) {
  const Workload workload = one_table(Optimizer::kRowwiseAdagrad);
  Plan plan{4, {}};
  for (std::int32_t part = 0; part < 4; ++part) {
    plan.shards.push_back({0, 0, kRows, 4 * part, 4 * part + 4, part});
  }
  BOOST_REQUIRE(validate(workload, plan).ok());
  for (const std::int64_t bytes : device_bytes(workload, plan)) {
    BOOST_TEST(bytes == kRows * (4 * 4 + 4));
  }
  plan.shards = {{0, 0, 300, 0, kDim, 0}, {0, 300, kRows, 0, kDim, 1}};  // rows share theirs
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  BOOST_TEST(bytes[0] + bytes[1] == table_bytes(workload.tables[0]));
}

BOOST_AUTO_TEST_CASE(tables_whose_states_would_overflow_are_refused) {
  Workload workload = one_table(Optimizer::kSgd);
  Table& table = workload.tables[0];
  table.rows = (std::int64_t{1} << 62) / (4 * kDim);  // 2^62 bytes of weights
  BOOST_TEST(validate(workload).ok());
  // As many bytes of states when every column is a shard: 2^63 with the weights.
  table.optimizer = Optimizer::kRowwiseAdagrad;
  BOOST_TEST(validate(table).message().find("expected below 2^63 bytes") != std::string::npos);
  table.rows /= 2;
  BOOST_TEST(validate(workload).ok());
  workload.tables.push_back(table);
  BOOST_TEST(validate(workload).message().find("tables[0..1] together") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
