#pragma once

// What tests of the training kernels have in common. Included behind the words of CUDA.

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "cuda/training/training_kernels.cuh"
#include "engine/core/rng.h"
#include "tests/emulated_cuda/blocks.h"

namespace neuroshard::cuda {

using emulation::run_blocks;
using Values = std::vector<float>;

inline Values random_values(Rng& rng, std::int64_t count) {
  Values values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

inline void check_close(const Values& found, const Values& expected) {
  BOOST_REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    BOOST_REQUIRE_SMALL(found[i] - expected[i], 2e-5F * (1 + std::fabs(expected[i])));
  }
}

inline unsigned blocks_of(std::int64_t count) {
  return static_cast<unsigned>((count + kTrainingThreads - 1) / kTrainingThreads);
}

template <typename Kernel>
void per_value(std::int64_t count, const Kernel& kernel) {
  run_blocks({blocks_of(count)}, {kTrainingThreads}, kernel);
}

}  // namespace neuroshard::cuda
