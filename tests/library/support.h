#pragma once

#include <neuroshard/engine.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <utility>

namespace neuroshard::test {

/// The value of a call that has to succeed.
template <typename T>
T must(Result<T> result) {
  BOOST_REQUIRE_MESSAGE(result.ok(), result.error().message);
  return *std::move(result);
}

/// `count` tables of different sizes and dims.
inline Workload make_workload(int count) {
  Workload workload = must(Workload::create());
  for (int i = 0; i < count; ++i) {
    const Table table{.name = "table " + std::to_string(i),
                      .rows = 1000 + 7919 * std::int64_t{i} % 100003,
                      .dim = 16 << (i % 4),
                      .pooling_factor = 1.0 + i % 13,
                      .zipf_alpha = 0.1 * (i % 15)};
    BOOST_REQUIRE(workload.add(table).ok());
  }
  return workload;
}

inline Planner make_planner() { return must(Planner::create(must(CostModels::shipped()))); }

/// Devices without memory limits worth mentioning.
inline Cluster cluster_of(std::int32_t devices) {
  return {.devices = devices, .memory_bytes = std::int64_t{1} << 40};
}

}  // namespace neuroshard::test
