#include "search/local/cost_estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace neuroshard::search {
namespace {

constexpr double kSlower = 0.02;          // of the last ready time
constexpr std::int64_t kWider = 16;       // dims at least
constexpr std::int64_t kWiderShare = 20;  // of the mean dims: a twentieth

/// Plans around one, for one call of the evaluator.
struct Probes {
  Probes(const LocalPlan& plan, std::size_t count)
      : devices(static_cast<std::size_t>(plan.devices())), plans(count) {
    for (std::size_t row = 0; row < count; ++row) {
      compute.insert(compute.end(), plan.compute_ms().begin(), plan.compute_ms().end());
      dims.insert(dims.end(), plan.dim_sums().begin(), plan.dim_sums().end());
    }
    ready.resize(count * devices);
    total.resize(count * devices);
  }

  void cost(const PlanEvaluator& evaluator, Scratch& scratch) {
    evaluator.plan_details({static_cast<int>(plans), compute, dims}, {ready, total}, scratch);
  }
  [[nodiscard]] std::size_t at(std::size_t row, std::size_t device) const {
    return row * devices + device;
  }
  [[nodiscard]] double last_ready(std::size_t row) const {
    const auto begin = ready.begin() + static_cast<std::ptrdiff_t>(row * devices);
    return *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(devices));
  }
  /// Mean over all devices but one.
  [[nodiscard]] double others(const std::vector<double>& values, std::size_t row,
                              std::size_t device) const {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * devices);
    const double sum = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(devices), 0.0);
    return (sum - values[at(row, device)]) / static_cast<double>(devices - 1);
  }

  std::size_t devices;
  std::size_t plans;
  std::vector<float> compute;
  std::vector<std::int64_t> dims;
  std::vector<double> ready;
  std::vector<double> total;
};

}  // namespace

CommResponse probe_response(const LocalPlan& plan, const PlanEvaluator& evaluator, Scratch& scratch,
                            std::int32_t most_probed) {
  const std::int32_t devices = plan.devices();
  if (devices < 2) return {};
  Probes base(plan, 1);
  base.cost(evaluator, scratch);
  const double last = base.last_ready(0);
  const double slower = kSlower * std::abs(last);
  const std::int64_t mean_dims =
      std::accumulate(plan.dim_sums().begin(), plan.dim_sums().end(), std::int64_t{0}) / devices;
  const std::int64_t wider = std::max(kWider, mean_dims / kWiderShare);
  const auto probed = static_cast<std::size_t>(std::min(devices, most_probed));
  const auto device_of = [&](std::size_t k) {
    return k * static_cast<std::size_t>(devices) / probed;
  };
  // Per probed device: as slow as the slowest; still slower; wider. Last, the widest wider.
  Probes probes(plan, 3 * probed + 1);
  for (std::size_t k = 0; k < probed; ++k) {
    const std::size_t device = device_of(k);
    const auto lag = static_cast<float>(last - base.ready[device]);
    probes.compute[probes.at(3 * k, device)] += lag;
    probes.compute[probes.at(3 * k + 1, device)] += lag + static_cast<float>(slower);
    probes.dims[probes.at(3 * k + 2, device)] += wider;
  }
  const auto widest = static_cast<std::size_t>(
      std::max_element(plan.dim_sums().begin(), plan.dim_sums().end()) - plan.dim_sums().begin());
  probes.dims[probes.at(3 * probed, widest)] += wider;
  probes.cost(evaluator, scratch);
  CommResponse response;
  double own_slope = 0;
  for (std::size_t k = 0; k < probed; ++k) {
    const std::size_t device = device_of(k);
    response.waiting += (probes.others(probes.total, 3 * k + 1, device) -
                         probes.others(probes.total, 3 * k, device)) /
                        slower;
    // What all devices notice is not the device's own.
    const std::size_t wider_row = 3 * k + 2;
    response.ready_per_dim +=
        probes.ready[probes.at(wider_row, device)] - base.ready[device] -
        (probes.others(probes.ready, wider_row, device) - base.others(base.ready, 0, device));
    own_slope +=
        probes.total[probes.at(wider_row, device)] - base.total[device] -
        (probes.others(probes.total, wider_row, device) - base.others(base.total, 0, device));
  }
  const auto count = static_cast<double>(probed);
  const double dims = count * static_cast<double>(wider);
  response.waiting = std::clamp(response.waiting / count, 0.0, 1.0);
  response.ready_per_dim /= dims;
  response.own_per_dim = own_slope / dims - (1 - response.waiting) * response.ready_per_dim;
  // Beside what waiting for the widest device accounts for.
  const std::size_t row = 3 * probed;
  const double later =
      probes.last_ready(row) - last -
      (probes.others(probes.ready, row, widest) - base.others(base.ready, 0, widest));
  const double dearer =
      probes.others(probes.total, row, widest) - base.others(base.total, 0, widest);
  response.widest_per_dim =
      std::max(0.0, (dearer - response.waiting * later) / static_cast<double>(wider));
  // Models that overflow somewhere near the plan tell nothing: what is left is a guess by compute.
  if (!std::isfinite(response.waiting + response.ready_per_dim + response.own_per_dim +
                     response.widest_per_dim)) {
    return {};
  }
  return response;
}

void CostEstimate::set(std::span<const double> ready_ms, std::span<const double> total_ms,
                       std::span<const std::int64_t> dim_sums) {
  ready_.reset(ready_ms);
  dim_values_.assign(dim_sums.begin(), dim_sums.end());
  dims_.reset(dim_values_);
  const double common = response_.waiting * ready_.max() + response_.widest_per_dim * dims_.max();
  own_values_.resize(total_ms.size());
  level_ = 0;
  for (std::size_t d = 0; d < total_ms.size(); ++d) {
    own_values_[d] = total_ms[d] - common;
    level_ += response_.waiting * ready_ms[d] + own_values_[d];
  }
  own_.reset(own_values_);
  objective_ = combine(cost(), level());
}

std::int32_t CostEstimate::busiest(bool by_dims) const {
  if (by_dims && response_.widest_per_dim > 0) return dims_.argmax();
  return response_.waiting > 0.5 ? ready_.argmax() : own_.argmax();
}

double CostEstimate::combine(double cost, double level) const {
  return (cost + level_weight_ * level) / (1 + level_weight_);
}

CostEstimate::After CostEstimate::after(const LocalPlan& plan, const Move& move) const {
  After result{};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int32_t device = move.changes[k].device;
    if (device == kNoDevice) continue;
    const auto index = static_cast<std::size_t>(device);
    const double compute = static_cast<double>(move.compute_ms[k]) - plan.compute_ms()[index];
    const auto dims = static_cast<double>(move.dims[k] - plan.dim_sums()[index]);
    const double ready = compute + response_.ready_per_dim * dims;
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
  double level =
      level_ + response_.waiting * (changed.ready[0] - ready_[a]) + changed.own[0] - own_[a];
  if (a != b) {
    effect.ready_ms = std::max(effect.ready_ms, changed.ready[1]);
    effect.own_ms = std::max(effect.own_ms, changed.own[1]);
    effect.dims = std::max(effect.dims, changed.dims[1]);
    level += response_.waiting * (changed.ready[1] - ready_[b]) + changed.own[1] - own_[b];
  }
  effect.cost = response_.waiting * std::max(ready_.max_without(a, b), effect.ready_ms) +
                std::max(own_.max_without(a, b), effect.own_ms);
  if (response_.widest_per_dim > 0) {
    effect.cost += response_.widest_per_dim * std::max(dims_.max_without(a, b), effect.dims);
  }
  effect.level = level / static_cast<double>(own_values_.size());
  return effect;
}

double CostEstimate::objective_after(const LocalPlan& plan, const Move& move) const {
  const Effect effect = effect_of(plan, move);
  return combine(effect.cost, effect.level);
}

void CostEstimate::accept(const LocalPlan& plan, const Move& move) {
  const After changed = after(plan, move);
  objective_ = objective_after(plan, move);
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int32_t device = move.changes[k].device;
    if (device == kNoDevice) continue;
    level_ +=
        response_.waiting * (changed.ready[k] - ready_[device]) + changed.own[k] - own_[device];
    ready_.set(device, changed.ready[k]);
    own_.set(device, changed.own[k]);
    if (response_.widest_per_dim > 0) dims_.set(device, changed.dims[k]);
  }
}

}  // namespace neuroshard::search
