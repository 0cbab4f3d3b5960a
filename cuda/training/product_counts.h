#pragma once

#include <cstdint>
#include <map>
#include <string_view>

namespace neuroshard::cuda {

/// How often cuBLASLt was asked for a product, replays of graphs not counted.
struct ProductCount {
  std::int64_t taken = 0;
  std::int64_t refused = 0;  ///< it has no kernel: another product or kernels of our own did it
};

/// By what is fused into a product, as cuBLASLt calls it ("RELU_BIAS").
using ProductCounts = std::map<std::string_view, ProductCount>;

}  // namespace neuroshard::cuda
