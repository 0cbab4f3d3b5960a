#include "engine/policy/policy_screen.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace neuroshard {
namespace {

/// So near to what ratios are limited to that rounding may go beyond.
constexpr float kSafelyBelow = 1 - 1e-6f;

float over(double whole) { return whole > 0 ? static_cast<float>(1 / whole) : 0.0f; }

/// The most that can be multiplied by the factor.
float most_by(float factor) {
  return factor > 0 ? kSafelyBelow * kMostPolicyRatio / factor
                    : std::numeric_limits<float>::infinity();
}

std::size_t blocks_of(std::int32_t devices) {
  return (static_cast<std::size_t>(devices) + kScreenLanes - 1) / kScreenLanes;
}

}  // namespace

const ScreenKernels* PolicyScreen::kernels_for(nn::Isa isa) {
#if defined(__x86_64__)
  if (isa == nn::Isa::kAvx512) return &kAvx512ScreenKernels;
  if (isa == nn::Isa::kAvx2) return &kAvx2ScreenKernels;
#else
  static_cast<void>(isa);
#endif
  return nullptr;
}

PolicyScreen::PolicyScreen(const PolicyHead& head, nn::Isa isa, std::int32_t devices)
    : head_(head),
      kernels_(*kernels_for(isa)),
      hidden_(static_cast<std::size_t>(head.hidden())),
      most_held_(hidden_),
      exact_dims_(static_cast<std::size_t>(devices)),
      units_(hidden_) {
  const std::size_t lanes = blocks_of(devices) * kScreenLanes;
  settled_.resize(lanes * hidden_);
  for (AlignedVector<float>* const one : {&after_, &dims_, &scores_}) one->resize(lanes);
  allowed_.resize(lanes);
  found_.resize(lanes);
}

void PolicyScreen::begin(const search::Standing& standing) {
  sum_scale_ = policy_sum_scale(standing.mean_pieces);
  per_dim_ = over(standing.mean_dims);
  per_byte_ = over(static_cast<double>(standing.memory_bytes));
  most_dims_ = 0;
  dims_of_all_ = 0;
  std::fill(settled_.begin(), settled_.end(), 0.0f);
  std::fill(most_held_.begin(), most_held_.end(), 0.0f);
  std::fill(dims_.begin(), dims_.end(), 0.0f);
  std::fill(exact_dims_.begin(), exact_dims_.end(), 0);
}

void PolicyScreen::settle(const search::Standing& standing, const float* held,
                          std::int32_t device) {
  const auto at = static_cast<std::size_t>(device);
  dims_of_all_ += standing.dims[at] - exact_dims_[at];
  exact_dims_[at] = standing.dims[at];
  dims_[at] = static_cast<float>(standing.dims[at]);
  most_dims_ = std::max(most_dims_, dims_[at]);
  const float dims_ratio = dims_[at] * per_dim_;
  const float bytes_ratio = static_cast<float>(standing.bytes[at]) * per_byte_;
  const float* const by_dims = head_.context_weights(5);
  const float* const by_bytes = head_.context_weights(7);
  float* const own =
      settled_.data() + at / kScreenLanes * kScreenLanes * hidden_ + at % kScreenLanes;
  for (std::size_t h = 0; h < hidden_; ++h) {
    const float sum = held[h] * sum_scale_;
    most_held_[h] = std::max(most_held_[h], std::fabs(sum));
    own[h * kScreenLanes] = sum + dims_ratio * by_dims[h] + bytes_ratio * by_bytes[h];
  }
}

ContextScale PolicyScreen::scale_of(const search::Standing& standing) {
  costs_ = kernels_.sum_costs(standing.cost_ms.size(), standing.cost_ms.data(),
                              standing.cost_after_ms.data());
  return context_scale(standing, costs_, dims_of_all_);
}

/// Returns what scores may be off by through rounding, of devices that the screen is right for.
float PolicyScreen::set_units(const ContextScale& scale, const Factors& factors,
                              const float* piece) {
  const auto limited = [](float value) { return std::min(value, kMostPolicyRatio); };
  const auto piece_dims = static_cast<float>(scale.piece_dims);
  const float dims_ratio = piece_dims * per_dim_;
  const float bytes_ratio = static_cast<float>(scale.piece_bytes) * per_byte_;
  // The largest inputs of any device that matters.
  const float most[kPolicyContext] = {scale.placed,
                                      scale.share,
                                      limited(costs_.most_after * factors.largest),
                                      limited(costs_.most_after * factors.mean_after),
                                      limited(costs_.most_after * factors.balanced),
                                      limited((most_dims_ + piece_dims) * per_dim_),
                                      limited((most_dims_ + piece_dims) * factors.mean_dims_after),
                                      1};
  const float* weights[kPolicyContext];
  for (int k = 0; k < kPolicyContext; ++k) weights[k] = head_.context_weights(k);
  const float* const bias = head_.bias();
  const float* const out = head_.out();
  float all_terms = 0;
  for (std::size_t h = 0; h < hidden_; ++h) {
    const float start = piece[h] + bias[h] + scale.placed * weights[0][h] +
                        scale.share * weights[1][h] + dims_ratio * weights[5][h] +
                        bytes_ratio * weights[7][h];
    units_[h] = {factors.largest * weights[2][h] + factors.mean_after * weights[3][h] +
                     factors.balanced * weights[4][h],
                 weights[6][h], -start, out[h]};
    float terms = most_held_[h] + std::fabs(piece[h]) + std::fabs(bias[h]);
    for (int k = 0; k < kPolicyContext; ++k) terms += most[k] * std::fabs(weights[k][h]);
    all_terms += terms * std::fabs(out[h]);
  }
  // Each way rounds some twenty times before the ReLU, and once or twice a unit behind it.
  const float roundings = 64 + 4 * static_cast<float>(hidden_);
  return all_terms * roundings * std::numeric_limits<float>::epsilon() / 2;
}

std::span<const std::int32_t> PolicyScreen::contenders(const search::Standing& standing,
                                                       const ContextScale& scale,
                                                       const float* piece,
                                                       std::span<const unsigned char> allowed) {
  const Factors factors{over(scale.largest_ms), over(scale.mean_after_ms), over(scale.balanced_ms),
                        over(scale.mean_dims_after)};
  const float error = set_units(scale, factors, piece);
  std::copy(standing.cost_after_ms.begin(), standing.cost_after_ms.end(), after_.begin());
  std::copy(allowed.begin(), allowed.end(), allowed_.begin());
  const auto piece_dims = static_cast<float>(scale.piece_dims);
  const std::size_t blocks = after_.size() / kScreenLanes;
  const float highest = kernels_.screen(
      {.blocks = blocks,
       .hidden = hidden_,
       .settled = settled_.data(),
       .after = after_.data(),
       .dims = dims_.data(),
       .allowed = allowed_.data(),
       .units = units_.data(),
       .piece_dims = piece_dims,
       .dims_scale = factors.mean_dims_after,
       .most_ratio = kMostPolicyRatio,
       .most_after = most_by(std::max({factors.largest, factors.mean_after, factors.balanced})),
       .most_dims = most_by(per_dim_) - piece_dims,
       .scores = scores_.data()});
  std::size_t count =
      kernels_.find_from(blocks, scores_.data(), highest - 2 * error, found_.data());
  if (count == 0) {  // where weights overflow
    for (std::size_t d = 0; d < allowed.size(); ++d) {
      if (allowed[d] != 0) found_[count++] = static_cast<std::int32_t>(d);
    }
  }
  return std::span(found_).first(count);
}

}  // namespace neuroshard
