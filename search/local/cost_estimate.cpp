#include "search/local/cost_estimate.h"

#include <algorithm>
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
    balanced_sum_ += response_.waiting * ready_values_[d] + own_values_[d];
  }
  own_.reset(own_values_);
  excess_dims_ = 0;
  if (response_.widest_per_dim > 0) {
    even_dims_ = std::accumulate(dim_values_.begin(), dim_values_.end(), 0.0) /
                 static_cast<double>(dim_values_.size());
    for (const double dims : dim_values_) excess_dims_ += excess(dims);
  }
  objective_ = combine(cost(), balanced_load(), excess_dims_);
}

std::int32_t CostEstimate::busiest(bool by_dims) const {
  if (by_dims && response_.widest_per_dim > 0) return dims_.argmax();
  return response_.waiting > 0.5 ? ready_.argmax() : own_.argmax();
}

double CostEstimate::combine(double cost, double balanced_load, double excess_dims) const {
  const double spread = kExcessWeight * response_.widest_per_dim * excess_dims /
                        static_cast<double>(own_values_.size());
  return (cost + balance_weight_ * (balanced_load + spread)) / (1 + balance_weight_);
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

CostEstimate::Effect CostEstimate::effect_of(const LocalPlan& plan, const Move& move) const {
  const After changed = after(plan, move);
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
  if (response_.widest_per_dim > 0) {
    effect.cost += response_.widest_per_dim * std::max(dims_.max_without(a, b), effect.dims);
    effect.excess_dims = excess_dims_ + excess(changed.dims[0]) - excess(dims_[a]);
    if (a != b) effect.excess_dims += excess(changed.dims[1]) - excess(dims_[b]);
  }
  effect.balanced_load = balanced_sum / static_cast<double>(own_values_.size());
  return effect;
}

double CostEstimate::objective_after(const LocalPlan& plan, const Move& move) const {
  const Effect effect = effect_of(plan, move);
  return combine(effect.cost, effect.balanced_load, effect.excess_dims);
}

void CostEstimate::accept(const LocalPlan& plan, const Move& move) {
  const After changed = after(plan, move);
  objective_ = objective_after(plan, move);
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
