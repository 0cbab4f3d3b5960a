#include "nn/segment_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace neuroshard::nn {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

void softmax_of_segment(const SegmentLogSoftmax& op, std::int32_t begin, std::int32_t end) {
  float largest = kImpossible;
  for (std::int32_t i = begin; i < end; ++i) {
    if (op.allowed[i] != 0) largest = std::max(largest, op.scores[i]);
  }
  // In double: the sum of many small ones would lose what keeps probabilities adding up to 1.
  double sum = 0;
  for (std::int32_t i = begin; i < end; ++i) {
    if (op.allowed[i] != 0) sum += std::exp(static_cast<double>(op.scores[i] - largest));
  }
  const double log_sum = std::log(sum);
  for (std::int32_t i = begin; i < end; ++i) {
    op.log_probabilities[i] =
        op.allowed[i] != 0 ? static_cast<float>(op.scores[i] - largest - log_sum) : kImpossible;
  }
}

void gradient_of_segment(const SegmentChoiceGradient& op, std::int64_t segment) {
  const std::int32_t begin = op.offsets[segment];
  const std::int32_t end = op.offsets[segment + 1];
  double entropy = 0;
  for (std::int32_t i = begin; i < end; ++i) {
    const double log_p = op.log_probabilities[i];
    if (log_p > kImpossible) entropy -= std::exp(log_p) * log_p;
  }
  const std::int32_t chosen = begin + op.chosen[segment];
  for (std::int32_t i = begin; i < end; ++i) {
    const double log_p = op.log_probabilities[i];
    if (!(log_p > kImpossible)) {
      op.dscores[i] = 0;
      continue;
    }
    const double p = std::exp(log_p);
    const double by_choice = op.weights[segment] * (p - (i == chosen ? 1 : 0));
    op.dscores[i] = static_cast<float>(by_choice + op.entropy * p * (log_p + entropy));
  }
}

}  // namespace

void run(const SegmentLogSoftmax& op) {
  for (std::int64_t s = 0; s < op.segments; ++s) {
    softmax_of_segment(op, op.offsets[s], op.offsets[s + 1]);
  }
}

void run(const SegmentChoiceGradient& op) {
  for (std::int64_t s = 0; s < op.segments; ++s) gradient_of_segment(op, s);
}

}  // namespace neuroshard::nn
