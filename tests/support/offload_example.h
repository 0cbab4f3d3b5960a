#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "engine/core/table.h"

namespace neuroshard::test {

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// Tables of ten thousand to thirty million rows, some GiB the largest: a few hundred MiB each in
/// the mean.
inline Workload large_tables(int count, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> unit(0, 1);
  Workload workload;
  workload.batch_size = 4096;
  for (int k = 0; k < count; ++k) {
    Table table;
    table.name = "t" + std::to_string(k);
    table.rows = static_cast<std::int64_t>(std::pow(10, 4 + 3.5 * unit(random)));
    table.dim = 16 << static_cast<int>(4 * unit(random));
    table.pooling_factor = 1 + std::floor(30 * unit(random));
    table.optimizer = k % 3 == 0 ? Optimizer::kSgd : Optimizer::kRowwiseAdagrad;
    table.reuse_histogram[0] = 1;
    workload.tables.push_back(std::move(table));
  }
  // One that is sure to fit no device.
  workload.tables[0].rows = 30'000'000;
  workload.tables[0].dim = 256;
  return workload;
}

}  // namespace neuroshard::test
