#pragma once

// Plans as TorchRec and HugeCTR write them, of test::three_tables().

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

#include "io/formats/plan_lint.h"
#include "io/plans/plan_import.h"
#include "tests/io/plans.h"
#include "tests/io/support.h"

namespace neuroshard::test {

inline constexpr std::string_view kTorchRec = R"({"plan": {"sparse.ebc": {
  "user": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [1],
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [10, 8], "placement": "rank:1/cuda:1"}]},
  "ad": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1]}},
 "other": {
  "item": {"sharding_type": "column_wise", "compute_kernel": "fused", "ranks": [0, 1],
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [12, 4], "placement": "rank:0/cuda:0"},
               {"shard_offsets": [0, 4], "shard_sizes": [12, 12], "placement": "rank:1/cuda:1"}]}}}})";

inline constexpr std::string_view kHugeCtr = R"({
  "shard_matrix": [["user", "ad", "item"], ["user", "ad"], ["user", "ad"], ["user", "ad", "item"]],
  "shard_strategy": [["mp", [["user", 2], "item"]], ["dp", ["ad"]]],
  "compression_strategy": {"Unique": ["user"]}, "comm_strategy": "Uniform"})";

/// On 4 ranks, 2 a host: two modules, one of them on host 1.
inline constexpr std::string_view kTwoModules = R"({"plan": {"sparse.ebc": {
  "user": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [2],
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [10, 8], "placement": "rank:2/cuda:0"}]},
  "ad": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1, 2, 3]}},
 "sparse.late": {
  "item": {"sharding_type": "column_wise", "compute_kernel": "fused", "ranks": [1, 3],
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [12, 4], "placement": "rank:1/cuda:1"},
               {"shard_offsets": [0, 4], "shard_sizes": [12, 12], "placement": "rank:3/cuda:1"}]}}}})";

inline Result<io::PlanInput> parse_plan(std::string_view bytes) {
  return io::parse_plan_input(bytes, "f");
}

/// The text with its first `from` replaced.
inline std::string changed(std::string_view text, std::string_view from, std::string_view to) {
  std::string copy(text);
  const std::size_t place = copy.find(from);
  BOOST_REQUIRE_MESSAGE(place != std::string::npos, from);
  return copy.replace(place, from.size(), to);
}

inline std::vector<io::PlanFault> faults_of(std::string_view text, const io::PlanRules& rules) {
  return value_of(io::lint_plan(value_of(parse_plan(text)), three_tables(), rules));
}

}  // namespace neuroshard::test
