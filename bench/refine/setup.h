#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "io/tables/tables.h"

namespace neuroshard::bench {

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// What the flags name, read.
struct Setup {
  NamedCostModels models;
  io::TableFile pool;
  std::vector<Workload> tasks;
  int devices = 4;
  double seconds = 0.1;
  std::int64_t evaluations = 0;  // instead of the seconds: the same plans on every run
  int threads = 2;
};

Cluster cluster_of(std::int32_t devices, std::int64_t memory_bytes);

/// `count` tables of the pool, with repetition, of random dims up to 128.
Workload draw(const Setup& setup, std::int64_t count, Rng& rng);

/// The value; an error ends the program with code 2.
template <typename T>
T must(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.status().message().c_str());
  std::exit(2);
}

/// Plans of these algorithms; an error ends the program with code 2.
std::vector<ComparedPlan> compare(const Setup& setup, const Workload& workload,
                                  const Cluster& cluster, const std::vector<std::string>& names,
                                  const PlanOptions& options);

}  // namespace neuroshard::bench
