#pragma once

// Small made-up measurements with a known law, and the real ones where they are.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/rng.h"
#include "engine/training/dataset.h"

namespace neuroshard::test {

/// Sets of 1..15 tables whose cost is a sum over them plus 5 %, rounded by nothing.
inline ComputeDataset made_up_compute(int samples, std::uint64_t seed,
                                      std::int64_t batch_size = 65536) {
  Rng rng(seed);
  ComputeDataset data;
  data.batch_size = batch_size;
  for (int i = 0; i < 60; ++i) {
    Table table;
    table.name = "table_" + std::to_string(i);
    table.rows = rng.between(100, 1000000);
    table.dim = static_cast<std::int32_t>(4 << rng.below(6));
    table.pooling_factor = static_cast<double>(rng.between(1, 40));
    table.reuse_histogram[rng.below(8)] = 1;
    data.pool.push_back(table);
  }
  for (int s = 0; s < samples; ++s) {
    io::ComputeSample sample;
    const std::int64_t size = rng.between(1, 15);
    for (std::int64_t k = 0; k < size; ++k) {
      const auto id = static_cast<std::int32_t>(rng.below(data.pool.size()));
      const Table& table = data.pool[static_cast<std::size_t>(id)];
      sample.tables.push_back(id);
      sample.cost_ms +=
          static_cast<double>(batch_size) / 65536 * (1 + 0.02 * table.pooling_factor * table.dim);
    }
    data.samples.push_back(sample);
  }
  return data;
}

/// All-to-alls whose time follows the largest dim sum; late starters are waited for.
inline CommDataset made_up_comm(int samples, std::int32_t devices, std::uint64_t seed) {
  Rng rng(seed);
  CommDataset data;
  for (int s = 0; s < samples; ++s) {
    io::CommSample sample;
    double most = 0;
    double last = 0;
    for (std::int32_t d = 0; d < devices; ++d) {
      sample.dims.push_back(4 * rng.between(1, 150));
      sample.starts_ms.push_back(static_cast<double>(rng.between(0, 10)));
      most = std::max(most, static_cast<double>(sample.dims.back()));
      last = std::max(last, sample.starts_ms.back());
    }
    for (std::int32_t d = 0; d < devices; ++d) {
      const auto at = static_cast<std::size_t>(d);
      sample.forward_ms.push_back(2 + 0.05 * most + last - sample.starts_ms[at]);
      sample.backward_ms.push_back(1 + 0.04 * most + 0.01 * static_cast<double>(sample.dims[at]));
    }
    data.samples.push_back(sample);
  }
  return data;
}

}  // namespace neuroshard::test
