#pragma once

#include <cstdint>

namespace neuroshard::nn {

// Choices among the members of segments, some of which are not allowed. On the CPU alone, in plain
// loops: networks that choose have a handful of members a segment, and their layers take far
// longer.

/// log_probabilities[i] = log of the softmax of `scores` over the allowed members of i's segment;
/// minus infinity where i is not allowed. Scores of members that are not allowed are not read.
/// REQUIRES an allowed member in each segment.
struct SegmentLogSoftmax {
  std::int64_t segments;
  const std::int32_t* offsets;   ///< [segments + 1], ascending, from 0
  const float* scores;           ///< [offsets[segments]], finite
  const unsigned char* allowed;  ///< the same; 0: not
  float* log_probabilities;      ///< the same
};

/// dscores = gradient by the scores of the sum over the segments s of
///   -weights[s] * log_probability(chosen[s]) - entropy * (entropy of s),
/// which is weight * (p - onehot(chosen)) + entropy * p * (log p + H), and 0 where a member is not
/// allowed. `log_probabilities` are SegmentLogSoftmax's.
struct SegmentChoiceGradient {
  std::int64_t segments;
  const std::int32_t* offsets;     ///< [segments + 1]
  const float* log_probabilities;  ///< [offsets[segments]]
  const std::int32_t* chosen;      ///< [segments], counted from the segment's first member
  const float* weights;            ///< [segments]
  float entropy;
  float* dscores;  ///< [offsets[segments]]
};

/// Thread-safe on memory of their own. Equal arguments give equal bits: sums have a fixed order.
void run(const SegmentLogSoftmax& op);
void run(const SegmentChoiceGradient& op);

}  // namespace neuroshard::nn
