#pragma once

#include <cstdint>
#include <span>

#include "engine/policy/policy_screen_kernels.h"
#include "search/policy/placement_policy.h"

namespace neuroshard {

/// Inputs of the score of a device besides what it holds and the piece to be placed.
inline constexpr int kPolicyContext = 8;
/// Ratios are at most this, so that nothing is far from what was trained on.
inline constexpr float kMostPolicyRatio = 8;

/// What the contexts of all devices have in common while a piece is to be placed.
struct ContextScale {
  float placed;  ///< share of the pieces' costs
  float share;   ///< 1 / the number of devices
  double largest_ms;
  double mean_after_ms;
  double balanced_ms;
  double mean_dims;        ///< of a device when all pieces are placed
  double mean_dims_after;  ///< of a device if each had the piece
  double memory_bytes;
  std::int64_t piece_dims;
  std::int64_t piece_bytes;
};

/// Sums of the standing's costs, the reference of ScreenKernels.
CostSums sum_costs(const search::Standing& standing);

/// That of the standing, whose devices have so many dims together.
ContextScale context_scale(const search::Standing& standing, const CostSums& costs,
                           std::int64_t dims_of_all);

/// Inputs of a device with that cost with the piece, and dims and bytes without it:
/// [kPolicyContext].
void write_device_context(const ContextScale& scale, float after_ms, std::int64_t dims,
                          std::int64_t bytes, float* row);

/// [devices, kPolicyContext], of each device: the share of the pieces' costs that is placed, 1 /
/// the number of devices; its cost with the piece over the largest of a device without it, over the
/// mean of all devices with it, and over the balanced load; its dims with the piece over what a
/// device has in the end in the mean, and over what all would have with it now; and the share of
/// its memory that is taken with the piece. Ratios are at most kMostPolicyRatio, and finite
/// whatever the costs.
void write_policy_context(const search::Standing& standing, std::span<float> context);

/// What the sum over a device's pieces is multiplied by: 1 / a device's pieces in the end, in the
/// mean, so that large tasks look like those that were trained on.
float policy_sum_scale(float mean_pieces);

}  // namespace neuroshard
