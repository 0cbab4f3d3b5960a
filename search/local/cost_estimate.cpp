#include "search/local/cost_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace neuroshard::search {
namespace {

// golden_costs_bench: without, networks_64 is 0.27 % costlier, networks_8_replan 0.08, networks_16
// 0.05, the others within 0.03; with 2, reference_4 is 0.10 % costlier, networks_8_replan 0.22
// cheaper.
constexpr double kExcessWeight = 1;

}  // namespace

void CostEstimate::set(std::span<const double> ready_ms, std::span<const double> total_ms,
                       std::span<const std::int64_t> dim_sums) {
  ready_values_.resize(ready_ms.size());
  std::transform(ready_ms.begin(), ready_ms.end(), ready_values_.begin(), finite_ms);
  ready_.reset(ready_values_);
  dim_values_.assign(dim_sums.begin(), dim_sums.end());
  dims_.reset(dim_values_);
  const double common = response_.waiting * ready_.max() + response_.widest_per_dim * dims_.max();
  own_values_.resize(total_ms.size());
  balanced_sum_ = 0;
  for (std::size_t d = 0; d < total_ms.size(); ++d) {
    own_values_[d] = finite_ms(total_ms[d]) - common;
    balanced_sum_ += load(ready_values_[d], own_values_[d]);
  }
  own_.reset(own_values_);
  excess_dims_ = 0;
  if (response_.widest_per_dim > 0) {
    even_dims_ = std::accumulate(dim_values_.begin(), dim_values_.end(), 0.0) /
                 static_cast<double>(dim_values_.size());
    for (const double dims : dim_values_) excess_dims_ += excess(dims);
  }
  if (doublings_ > 0) set_powers();
  objective_ = objective_of({.cost = cost(),
                             .balanced_load = balanced_load(),
                             .widest = dims_.max(),
                             .excess_dims = excess_dims_,
                             .load_powers = load_powers_,
                             .dim_powers = dim_powers_});
}

void CostEstimate::set_powers() {
  constexpr double kLeast = std::numeric_limits<double>::min();
  unit_ms_ = kLeast;
  for (std::size_t d = 0; d < own_values_.size(); ++d) {
    unit_ms_ = std::max(unit_ms_, load(ready_values_[d], own_values_[d]));
  }
  unit_dims_ = std::max(kLeast, dims_.max());
  load_powers_ = dim_powers_ = 0;
  for (std::size_t d = 0; d < own_values_.size(); ++d) {
    load_powers_ += load_power(ready_values_[d], own_values_[d]);
    dim_powers_ += dim_power(dim_values_[d]);
  }
}

double CostEstimate::raised(double value, double unit) const {
  double power = std::max(0.0, value) / unit;
  for (int k = 0; k < doublings_; ++k) power *= power;
  return power;
}

double CostEstimate::norm(double powers, double unit) const {
  double root = std::max(0.0, powers) / static_cast<double>(own_values_.size());
  for (int k = 0; k < doublings_; ++k) root = std::sqrt(root);
  return root * unit;
}

std::int32_t CostEstimate::busiest(bool by_dims) const {
  if (by_dims && response_.widest_per_dim > 0) return dims_.argmax();
  return response_.waiting > 0.5 ? ready_.argmax() : own_.argmax();
}

double CostEstimate::objective_of(const Effect& effect) const {
  const double spread = kExcessWeight * response_.widest_per_dim * effect.excess_dims /
                        static_cast<double>(own_values_.size());
  if (doublings_ > 0) {
    const double dims = soft_dims_ ? norm(effect.dim_powers, unit_dims_) : effect.widest;
    return norm(effect.load_powers, unit_ms_) + response_.widest_per_dim * dims + spread;
  }
  return (effect.cost + balance_weight_ * (effect.balanced_load + spread)) / (1 + balance_weight_);
}

CostEstimate::After CostEstimate::after(const LocalPlan& plan, const Move& move) const {
  After result{};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int32_t device = move.changes[k].device;
    if (device == kNoDevice) continue;
    const auto index = static_cast<std::size_t>(device);
    const double compute = static_cast<double>(move.compute_ms[k]) - plan.compute_ms()[index];
    const auto dims = static_cast<double>(move.dims[k] - plan.dim_sums()[index]);
    const double ready = finite_ms(compute) + response_.ready_per_dim * dims;
    result.dims[k] = static_cast<double>(move.dims[k]);
    result.ready[k] = ready_[device] + ready;
    result.own[k] = own_[device] + (1 - response_.waiting) * ready + response_.own_per_dim * dims;
  }
  return result;
}

CostEstimate::Effect CostEstimate::effect_of(const After& changed, const Move& move) const {
  const std::int32_t a = move.changes[0].device;
  const std::int32_t b = move.changes[1].device == kNoDevice ? a : move.changes[1].device;
  Effect effect;
  effect.ready_ms = changed.ready[0];
  effect.own_ms = changed.own[0];
  effect.dims = changed.dims[0];
  double balanced_sum =
      balanced_sum_ + response_.waiting * (changed.ready[0] - ready_[a]) + changed.own[0] - own_[a];
  if (a != b) {
    effect.ready_ms = std::max(effect.ready_ms, changed.ready[1]);
    effect.own_ms = std::max(effect.own_ms, changed.own[1]);
    effect.dims = std::max(effect.dims, changed.dims[1]);
    balanced_sum += response_.waiting * (changed.ready[1] - ready_[b]) + changed.own[1] - own_[b];
  }
  effect.cost = response_.waiting * std::max(ready_.max_without(a, b), effect.ready_ms) +
                std::max(own_.max_without(a, b), effect.own_ms);
  if (doublings_ > 0) {
    effect.load_powers = load_powers_ + load_power(changed.ready[0], changed.own[0]) -
                         load_power(ready_[a], own_[a]);
    if (a != b) {
      effect.load_powers +=
          load_power(changed.ready[1], changed.own[1]) - load_power(ready_[b], own_[b]);
    }
  }
  if (response_.widest_per_dim > 0) {
    effect.widest = std::max(dims_.max_without(a, b), effect.dims);
    effect.cost += response_.widest_per_dim * effect.widest;
    effect.excess_dims = excess_dims_ + excess(changed.dims[0]) - excess(dims_[a]);
    effect.dim_powers = dim_powers_ + dim_power(changed.dims[0]) - dim_power(dims_[a]);
    if (a != b) {
      effect.excess_dims += excess(changed.dims[1]) - excess(dims_[b]);
      effect.dim_powers += dim_power(changed.dims[1]) - dim_power(dims_[b]);
    }
  }
  effect.balanced_load = balanced_sum / static_cast<double>(own_values_.size());
  return effect;
}

double CostEstimate::objective_after(const LocalPlan& plan, const Move& move) const {
  return objective_of(effect_of(plan, move));
}

void CostEstimate::accept(const LocalPlan& plan, const Move& move) {
  const After changed = after(plan, move);
  const Effect effect = effect_of(changed, move);
  objective_ = objective_of(effect);
  load_powers_ = effect.load_powers;
  dim_powers_ = effect.dim_powers;
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int32_t device = move.changes[k].device;
    if (device == kNoDevice) continue;
    balanced_sum_ +=
        response_.waiting * (changed.ready[k] - ready_[device]) + changed.own[k] - own_[device];
    ready_.set(device, changed.ready[k]);
    own_.set(device, changed.own[k]);
    if (response_.widest_per_dim > 0) {
      excess_dims_ += excess(changed.dims[k]) - excess(dims_[device]);
      dims_.set(device, changed.dims[k]);
    }
  }
}

}  // namespace neuroshard::search
