#include "search/local/comm_response.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace neuroshard::search {
namespace {

constexpr double kSlower = 0.02;          // of the last ready time
constexpr std::int64_t kWider = 16;       // dims at least
constexpr std::int64_t kWiderShare = 20;  // of the mean dims: a twentieth

/// Plans around one, for one call of the evaluator. What all devices leave together is left out: it
/// takes as long whichever device is slower. (golden_costs_bench with it: networks_16 is 0.2 %
/// costlier, networks_64 0.6, dcnv2_networks_16 0.3.)
struct Probes {
  Probes(const PlanBatch& plan, std::size_t count) : devices(plan.compute_ms.size()), plans(count) {
    for (std::size_t row = 0; row < count; ++row) {
      compute.insert(compute.end(), plan.compute_ms.begin(), plan.compute_ms.end());
      dims.insert(dims.end(), plan.dim_sums.begin(), plan.dim_sums.end());
      work.insert(work.end(), plan.work.begin(), plan.work.end());
    }
    ready.resize(count * devices);
    total.resize(count * devices);
  }

  void cost(const PlanEvaluator& evaluator, Scratch& scratch) {
    evaluator.plan_details({static_cast<int>(plans), compute, dims, {}, work}, {ready, total},
                           scratch);
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
  std::vector<DeviceWork> work;
  std::vector<double> ready;
  std::vector<double> total;
};

/// What the evaluator says around one plan. Per probed device: as slow as the slowest; still
/// slower; wider. Last, the widest wider.
class Probing {
 public:
  Probing(const PlanBatch& plan, std::int32_t most_probed);

  void cost(const PlanEvaluator& evaluator, Scratch& scratch);
  /// REQUIRES cost().
  [[nodiscard]] CommResponse response() const;

 private:
  [[nodiscard]] std::size_t device_of(std::size_t k) const { return k * base_.devices / probed_; }
  void set_probes();
  void add_device(std::size_t k, CommResponse& sums, double& own_slope) const;
  [[nodiscard]] double widest_slope(double waiting) const;

  const std::size_t probed_;
  Probes base_;
  Probes probes_;
  std::size_t widest_ = 0;
  double last_ = 0;
  double slower_ = 0;
  std::int64_t wider_ = 0;
};

Probing::Probing(const PlanBatch& plan, std::int32_t most_probed)
    : probed_(std::min(plan.compute_ms.size(), static_cast<std::size_t>(most_probed))),
      base_(plan, 1),
      probes_(plan, 3 * probed_ + 1) {
  const std::vector<std::int64_t>& dims = base_.dims;
  widest_ = static_cast<std::size_t>(std::max_element(dims.begin(), dims.end()) - dims.begin());
  const std::int64_t mean =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{0}) / std::ssize(dims);
  wider_ = std::max(kWider, mean / kWiderShare);
}

void Probing::cost(const PlanEvaluator& evaluator, Scratch& scratch) {
  base_.cost(evaluator, scratch);
  last_ = base_.last_ready(0);
  slower_ = kSlower * std::abs(last_);
  set_probes();
  probes_.cost(evaluator, scratch);
}

void Probing::set_probes() {
  for (std::size_t k = 0; k < probed_; ++k) {
    const std::size_t device = device_of(k);
    const auto lag = static_cast<float>(last_ - base_.ready[device]);
    probes_.compute[probes_.at(3 * k, device)] += lag;
    probes_.compute[probes_.at(3 * k + 1, device)] += lag + static_cast<float>(slower_);
    probes_.dims[probes_.at(3 * k + 2, device)] += wider_;
  }
  probes_.dims[probes_.at(3 * probed_, widest_)] += wider_;
}

/// Adds what one device tells: what all devices notice is not the device's own.
void Probing::add_device(std::size_t k, CommResponse& sums, double& own_slope) const {
  const std::size_t device = device_of(k);
  sums.waiting += (probes_.others(probes_.total, 3 * k + 1, device) -
                   probes_.others(probes_.total, 3 * k, device)) /
                  slower_;
  const std::size_t row = 3 * k + 2;
  sums.ready_per_dim +=
      probes_.ready[probes_.at(row, device)] - base_.ready[device] -
      (probes_.others(probes_.ready, row, device) - base_.others(base_.ready, 0, device));
  own_slope += probes_.total[probes_.at(row, device)] - base_.total[device] -
               (probes_.others(probes_.total, row, device) - base_.others(base_.total, 0, device));
}

/// Of all devices per dim of the widest, beside what waiting for that accounts for.
double Probing::widest_slope(double waiting) const {
  const std::size_t row = 3 * probed_;
  const double later =
      probes_.last_ready(row) - last_ -
      (probes_.others(probes_.ready, row, widest_) - base_.others(base_.ready, 0, widest_));
  const double costlier =
      probes_.others(probes_.total, row, widest_) - base_.others(base_.total, 0, widest_);
  return std::max(0.0, (costlier - waiting * later) / static_cast<double>(wider_));
}

CommResponse Probing::response() const {
  CommResponse response;
  double own_slope = 0;
  for (std::size_t k = 0; k < probed_; ++k) add_device(k, response, own_slope);
  const auto count = static_cast<double>(probed_);
  const double dims = count * static_cast<double>(wider_);
  response.waiting = std::clamp(response.waiting / count, 0.0, 1.0);
  response.ready_per_dim /= dims;
  response.own_per_dim = own_slope / dims - (1 - response.waiting) * response.ready_per_dim;
  response.widest_per_dim = widest_slope(response.waiting);
  // Models that overflow somewhere near the plan tell nothing: what is left is a guess by compute.
  const bool finite = std::isfinite(response.waiting + response.ready_per_dim +
                                    response.own_per_dim + response.widest_per_dim);
  return finite ? response : CommResponse();
}

}  // namespace

CommResponse probe_response(const PlanBatch& plan, const PlanEvaluator& evaluator, Scratch& scratch,
                            std::int32_t most_probed) {
  if (plan.compute_ms.size() < 2) return {};
  Probing probing(plan, most_probed);
  probing.cost(evaluator, scratch);
  return probing.response();
}

}  // namespace neuroshard::search
