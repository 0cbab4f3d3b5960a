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

/// A tenth of an empty device's share of the time between two of them, for a thousand devices.
constexpr int kPiecesBetweenBounds = 128;

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
      least_settled_(hidden_),
      most_settled_(hidden_),
      exact_dims_(static_cast<std::size_t>(devices)) {
  open_.reserve(hidden_);
  bent_.reserve(hidden_);
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
  for (AlignedVector<float>* const one : {&most_held_, &least_settled_, &most_settled_}) {
    std::fill(one->begin(), one->end(), 0.0f);
  }
  until_bounds_ = kPiecesBetweenBounds;
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
    const float value = sum + dims_ratio * by_dims[h] + bytes_ratio * by_bytes[h];
    own[h * kScreenLanes] = value;
    least_settled_[h] = std::min(least_settled_[h], value);
    most_settled_[h] = std::max(most_settled_[h], value);
  }
  if (--until_bounds_ == 0) find_bounds();
}

/// Those that settle() keeps only grow apart, though no device may be as empty any more. Lanes
/// without a device are 0, as a device is at first.
void PolicyScreen::find_bounds() {
  until_bounds_ = kPiecesBetweenBounds;
  for (std::size_t h = 0; h < hidden_; ++h) {
    float least[kScreenLanes];
    float most[kScreenLanes];
    std::copy_n(settled_.data() + h * kScreenLanes, kScreenLanes, least);
    std::copy_n(least, kScreenLanes, most);
    for (std::size_t at = h * kScreenLanes; at < settled_.size(); at += hidden_ * kScreenLanes) {
      for (std::size_t lane = 0; lane < kScreenLanes; ++lane) {
        const float value = settled_[at + lane];
        least[lane] = value < least[lane] ? value : least[lane];
        most[lane] = value > most[lane] ? value : most[lane];
      }
    }
    least_settled_[h] = *std::min_element(least, least + kScreenLanes);
    most_settled_[h] = *std::max_element(most, most + kScreenLanes);
  }
}

ContextScale PolicyScreen::scale_of(const search::Standing& standing) {
  costs_ = kernels_.sum_costs(standing.cost_ms.size(), standing.cost_ms.data(),
                              standing.cost_after_ms.data());
  return context_scale(standing, costs_, dims_of_all_);
}

PolicyScreen::Units PolicyScreen::sort_units(const ContextScale& scale, const Factors& factors,
                                             const float* piece) {
  const auto limited = [](float value) { return std::min(value, kMostPolicyRatio); };
  const auto piece_dims = static_cast<float>(scale.piece_dims);
  const float dims_ratio = piece_dims * per_dim_;
  const float bytes_ratio = static_cast<float>(scale.piece_bytes) * per_byte_;
  const float largest_factor = std::max({factors.largest, factors.mean_after, factors.balanced});
  // Of the devices that the screen is right for.
  const float most_after = std::min(costs_.most_after, most_by(largest_factor));
  const float least_after = std::clamp(costs_.least_after, 0.0f, most_after);
  const float least_ratio = limited(piece_dims * factors.mean_dims_after);
  const float most_ratio = limited((most_dims_ + piece_dims) * factors.mean_dims_after);
  const float most[kPolicyContext] = {scale.placed,
                                      scale.share,
                                      most_after * factors.largest,
                                      most_after * factors.mean_after,
                                      most_after * factors.balanced,
                                      limited((most_dims_ + piece_dims) * per_dim_),
                                      most_ratio,
                                      1};
  const float* weights[kPolicyContext];
  for (int k = 0; k < kPolicyContext; ++k) weights[k] = head_.context_weights(k);
  Units all;
  open_.clear();
  bent_.clear();
  float all_terms = 0;
  for (std::size_t h = 0; h < hidden_; ++h) {
    const float bias = head_.bias()[h];
    const float out = head_.out()[h];
    float terms = most_held_[h] + std::fabs(piece[h]) + std::fabs(bias);
    for (int k = 0; k < kPolicyContext; ++k) terms += most[k] * std::fabs(weights[k][h]);
    all_terms += terms * std::fabs(out);
    const float start = piece[h] + bias + scale.placed * weights[0][h] +
                        scale.share * weights[1][h] + dims_ratio * weights[5][h] +
                        bytes_ratio * weights[7][h];
    const float by_after = factors.largest * weights[2][h] + factors.mean_after * weights[3][h] +
                           factors.balanced * weights[4][h];
    const float by_dims = weights[6][h];
    const auto [low_cost, high_cost] = std::minmax({by_after * least_after, by_after * most_after});
    const auto [low_dims, high_dims] = std::minmax({by_dims * least_ratio, by_dims * most_ratio});
    if (most_settled_[h] + start + high_cost + high_dims <= 0) continue;
    if (least_settled_[h] + start + low_cost + low_dims >= 0) {
      open_.push_back({h, out});
      all.by_after += by_after * out;
      all.by_dims += by_dims * out;
    } else {
      bent_.push_back({h, by_after, by_dims, -start, out});
    }
  }
  // Each way rounds some twenty times before the ReLU, and once or twice a unit behind it.
  const float roundings = 64 + 4 * static_cast<float>(hidden_);
  all.error = all_terms * roundings * std::numeric_limits<float>::epsilon() / 2;
  return all;
}

std::span<const std::int32_t> PolicyScreen::contenders(const search::Standing& standing,
                                                       const ContextScale& scale,
                                                       const float* piece,
                                                       std::span<const unsigned char> allowed) {
  const Factors factors{over(scale.largest_ms), over(scale.mean_after_ms), over(scale.balanced_ms),
                        over(scale.mean_dims_after)};
  const Units units = sort_units(scale, factors, piece);
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
       .open = open_.data(),
       .open_units = open_.size(),
       .bent = bent_.data(),
       .bent_units = bent_.size(),
       .by_after = units.by_after,
       .by_dims = units.by_dims,
       .piece_dims = piece_dims,
       .dims_scale = factors.mean_dims_after,
       .most_ratio = kMostPolicyRatio,
       .most_after = most_by(std::max({factors.largest, factors.mean_after, factors.balanced})),
       .most_dims = most_by(per_dim_) - piece_dims,
       .scores = scores_.data()});
  std::size_t count =
      kernels_.find_from(blocks, scores_.data(), highest - 2 * units.error, found_.data());
  if (count == 0) {  // where weights overflow
    for (std::size_t d = 0; d < allowed.size(); ++d) {
      if (allowed[d] != 0) found_[count++] = static_cast<std::int32_t>(d);
    }
  }
  return std::span(found_).first(count);
}

}  // namespace neuroshard
