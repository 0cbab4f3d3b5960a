#include "search/surco/plan_slopes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/local/comm_response.h"
#include "search/local/cost_estimate.h"

namespace neuroshard::search {
namespace {

/// Derivatives of the soft largest value, which add up to 1.
std::vector<double> weights_of(const std::vector<double>& values, double softness, double unit) {
  const double largest = *std::max_element(values.begin(), values.end());
  const double width = std::max(softness * std::abs(unit), std::numeric_limits<double>::min());
  std::vector<double> weights;
  double sum = 0;
  for (const double value : values) {
    weights.push_back(std::exp((value - largest) / width));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

PlanSlopes plan_slopes(const PlanBatch& plan, const PlanEvaluator& evaluator, double softness,
                       Scratch& scratch) {
  const CommResponse response = probe_response(plan, evaluator, scratch);
  std::vector<double> ready(plan.compute_ms.size());
  std::vector<double> own(ready.size());  // beside the wait for the last device, which all have
  const std::vector<double> dims(plan.dim_sums.begin(), plan.dim_sums.end());
  evaluator.plan_details(plan, {ready, own}, scratch);
  std::transform(ready.begin(), ready.end(), ready.begin(), finite_ms);
  std::transform(own.begin(), own.end(), own.begin(), finite_ms);
  const double cost = *std::max_element(own.begin(), own.end());
  const std::vector<double> by_ready = weights_of(ready, softness, cost);
  const std::vector<double> by_own = weights_of(own, softness, cost);
  const std::vector<double> by_dims =
      weights_of(dims, softness, *std::max_element(dims.begin(), dims.end()));
  PlanSlopes slopes;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const double compute = response.waiting * by_ready[d] + (1 - response.waiting) * by_own[d];
    slopes.per_compute.push_back(compute);
    slopes.per_dim.push_back(response.ready_per_dim * compute + response.own_per_dim * by_own[d] +
                             response.widest_per_dim * by_dims[d]);
  }
  return slopes;
}

}  // namespace neuroshard::search
