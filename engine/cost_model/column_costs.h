#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/core/aligned_vector.h"
#include "engine/cost_model/compute_predictor.h"
#include "search/plan_evaluator.h"

namespace neuroshard {

/// Costs of many devices by columns of their states. Of the head's hidden units only a few are open
/// on any device, and of the others nothing is computed more than once. Not thread-safe; the
/// predictor must outlive it, and be given no shapes to hold.
class ColumnCosts final : public search::DeviceCosts {
 public:
  /// REQUIRES compute.has_columns().
  ColumnCosts(const ComputePredictor& compute, std::int32_t devices);

  void begin() override;
  void change(std::size_t device, const float* state) override;
  void costs_with(search::ShapeId shape, std::span<const float> states,
                  std::span<float> costs) override;

 private:
  const ComputePredictor& compute_;
  const std::size_t size_;
  AlignedVector<float> columns_;  // [blocks, size, lanes]
  AlignedVector<float> most_;     // [size], no less than any in the column; infinite for NaN
  AlignedVector<float> costs_;    // [blocks, lanes]
};

}  // namespace neuroshard
