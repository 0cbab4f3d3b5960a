#include "engine/policy/policy_head.h"

#include <algorithm>
#include <cstdint>

#include "engine/policy/policy_context.h"
#include "engine/policy/policy_head_kernels.h"

namespace neuroshard {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kInputs = kPolicyContext;
static_assert(kInputs % 4 == 0);

void add_rows(const float* a, float scale, const float* b, const float* c, std::size_t count,
              float* out) {
  for (std::size_t h = 0; h < count; ++h) out[h] = a[h] * scale + b[h] + c[h];
}

/// Four rows of weights, each times its input.
void add_scaled_rows(const float* inputs, const float* weights, std::size_t count, float* out) {
  const float* const w1 = weights + count;
  const float* const w2 = w1 + count;
  const float* const w3 = w2 + count;
  for (std::size_t h = 0; h < count; ++h) {
    out[h] +=
        (inputs[0] * weights[h] + inputs[1] * w1[h]) + (inputs[2] * w2[h] + inputs[3] * w3[h]);
  }
}

/// Clears what is below 0; the sum in eight lanes, so that its order is the same on every compiler.
float relu_and_dot(const float* weights, std::size_t count, float* values) {
  float lanes[kLanes] = {};
  for (std::size_t first = 0; first < count; first += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float value = values[first + l];
      values[first + l] = value > 0 ? value : 0;
      lanes[l] += values[first + l] * weights[first + l];
    }
  }
  const float low = (lanes[0] + lanes[4]) + (lanes[1] + lanes[5]);
  const float high = (lanes[2] + lanes[6]) + (lanes[3] + lanes[7]);
  return low + high;
}

}  // namespace

std::size_t policy_head_parameters(int hidden) {
  return (kInputs + 1) * static_cast<std::size_t>(hidden) + static_cast<std::size_t>(hidden) + 1;
}

PolicyHead::PolicyHead(int hidden, std::span<const float> parameters, nn::Isa isa)
    : hidden_(hidden),
      avx2_(isa == nn::Isa::kAvx2 || isa == nn::Isa::kAvx512),
      context_(kInputs * static_cast<std::size_t>(hidden)),
      bias_(static_cast<std::size_t>(hidden)),
      out_(static_cast<std::size_t>(hidden)),
      out_bias_(parameters[policy_head_parameters(hidden) - 1]) {
  const auto units = static_cast<std::size_t>(hidden);
  for (std::size_t h = 0; h < units; ++h) {
    for (std::size_t k = 0; k < kInputs; ++k) {
      context_[k * units + h] = parameters[h * kInputs + k];
    }
    bias_[h] = parameters[kInputs * units + h];
    out_[h] = parameters[(kInputs + 1) * units + h];
  }
}

void PolicyHead::scores(std::span<const float> held, float scale, const float* piece,
                        std::span<const float> context, std::span<float> scores,
                        float* units) const {
  const auto hidden = static_cast<std::size_t>(hidden_);
#if defined(__x86_64__)
  if (avx2_ && units == nullptr) {
    avx2::policy_scores({scores.size(), hidden, kInputs, held.data(), scale, piece, bias_.data(),
                         context.data(), context_.data(), out_.data(), out_bias_, scores.data()});
    return;
  }
#endif
  alignas(64) float own[kMostPolicyUnits];
  for (std::size_t d = 0; d < scores.size(); ++d) {
    float* const values = units != nullptr ? units + d * hidden : own;
    const float* const row = context.data() + d * kInputs;
    const float* const sums = held.data() + d * hidden;
    add_rows(sums, scale, piece, bias_.data(), hidden, values);
    // Four inputs at a time, so that a value is read and written half as often as with two.
    for (std::size_t k = 0; k < kInputs; k += 4) {
      add_scaled_rows(row + k, context_.data() + k * hidden, hidden, values);
    }
    scores[d] = relu_and_dot(out_.data(), hidden, values) + out_bias_;
  }
}

void PolicyHead::add_gradients(std::span<const float> context, std::span<const float> units,
                               std::span<const float> d_scores, std::span<float> d_parameters,
                               float* d_held, float* d_piece) const {
  const auto hidden = static_cast<std::size_t>(hidden_);
  float* const d_weights = d_parameters.data();
  float* const d_bias = d_weights + kInputs * hidden;
  float* const d_out = d_bias + hidden;
  for (std::size_t d = 0; d < d_scores.size(); ++d) {
    const float slope = d_scores[d];
    if (slope == 0) continue;
    const float* const row = context.data() + d * kInputs;
    const float* const active = units.data() + d * hidden;
    d_out[hidden] += slope;
    for (std::size_t h = 0; h < hidden; ++h) {
      if (!(active[h] > 0)) continue;
      d_out[h] += slope * active[h];
      const float gradient = slope * out_[h];
      d_bias[h] += gradient;
      d_held[d * hidden + h] += gradient;
      d_piece[h] += gradient;
      for (std::size_t k = 0; k < kInputs; ++k) d_weights[h * kInputs + k] += gradient * row[k];
    }
  }
}

}  // namespace neuroshard
