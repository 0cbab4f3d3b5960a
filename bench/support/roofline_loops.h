#pragma once

#include <cstdint>

// Loops of nothing but the named operations, `rounds` times kOperations registers. Plain arguments
// only: the sources are compiled for one instruction set.
namespace neuroshard::bench {

inline constexpr int kOperations = 12;  // chains enough to hide latencies

struct RooflineLoops {
  int lanes;
  void (*fma)(std::int64_t rounds);
  void (*load)(std::int64_t rounds);
  void (*max_fma)(std::int64_t rounds);
  void (*add_max_fma)(std::int64_t rounds);
};

extern const RooflineLoops kAvx2Loops;
extern const RooflineLoops kAvx512Loops;

}  // namespace neuroshard::bench
