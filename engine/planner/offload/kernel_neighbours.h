#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/rng.h"
#include "engine/core/weighted_draw.h"
#include "engine/planner/offload/kernel_costs.h"

namespace neuroshard {

/// Draws choices of kernels that are a little different from another: one to three tables with
/// another kernel, large tables the more likely, a similar cache as likely as anything else. The
/// same seed draws the same. Not thread-safe.
class KernelNeighbours {
 public:
  /// `costs` must outlive it.
  KernelNeighbours(const KernelCosts& costs, std::uint64_t seed);
  OffloadChoice next(OffloadChoice choice);

 private:
  std::size_t draw_kernel(std::size_t table, std::size_t now);

  const KernelCosts& costs_;
  Rng rng_;
  WeightedDraw tables_;  ///< by bytes
};

}  // namespace neuroshard
