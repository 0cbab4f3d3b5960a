#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/cost_model/shipped_models.h"

namespace neuroshard::test {

inline Table table_of(std::string name, std::int64_t rows, std::int32_t dim,
                      double pooling_factor) {
  Table table;
  table.name = std::move(name);
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = pooling_factor;
  table.reuse_histogram[0] = 1;
  return table;
}

inline Workload example() {
  return {{table_of("a", 1000, 128, 3), table_of("b", 500, 64, 20), table_of("c", 100, 16, 1)},
          65536};
}

inline CostModels torchrec() { return load_cost_models("torchrec").value().models; }

}  // namespace neuroshard::test
