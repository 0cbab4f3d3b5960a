#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/core/rng.h"
#include "engine/core/table.h"

namespace neuroshard::test {

/// So many tables of a thousand to two million rows and 16 to 128 columns, by the next numbers.
inline Workload generated_tables(std::size_t count, Rng& rng) {
  Workload workload;
  for (std::size_t k = 0; k < count; ++k) {
    Table table;
    table.name = "t" + std::to_string(k);
    table.rows = rng.between(1000, 2'000'000);
    table.dim = static_cast<std::int32_t>(4 * rng.between(4, 32));
    table.pooling_factor = static_cast<double>(rng.between(1, 40));
    workload.tables.push_back(table);
  }
  return workload;
}

}  // namespace neuroshard::test
