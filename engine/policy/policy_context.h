#pragma once

#include <span>

#include "search/policy/placement_policy.h"

namespace neuroshard {

/// Inputs of the score of a device besides what it holds and the piece to be placed.
inline constexpr int kPolicyContext = 8;

/// [devices, kPolicyContext], of each device: the share of the pieces' costs that is placed, 1 /
/// the number of devices; its cost with the piece over the largest of a device without it, over the
/// mean of all devices with it, and over the balanced load; its dims with the piece over what a
/// device has in the end in the mean, and over what all would have with it now; and the share of
/// its memory that is taken with the piece. Ratios are at most 8, so that nothing is far from what
/// was trained on, and finite whatever the costs.
void write_policy_context(const search::Standing& standing, std::span<float> context);

/// What the sum over a device's pieces is multiplied by: 1 / a device's pieces in the end, in the
/// mean, so that large tasks look like those that were trained on.
float policy_sum_scale(float mean_pieces);

}  // namespace neuroshard
