#include "search/refine/price_list.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace neuroshard::search {
namespace {

/// For slopes: of the mean dims, and gradients of a device.
constexpr std::int64_t kTenth = 10;
constexpr std::int64_t kMoreBytes = std::int64_t{16} << 20;

std::int32_t device_in_the_middle(std::span<const float> compute_ms) {
  std::vector<std::int32_t> order(compute_ms.size());
  std::iota(order.begin(), order.end(), 0);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
  const auto compute = [&](std::int32_t device) {
    return compute_ms[static_cast<std::size_t>(device)];
  };
  std::nth_element(order.begin(), middle, order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::pair(compute(a), a) < std::pair(compute(b), b);
  });
  return *middle;
}

}  // namespace

std::array<std::size_t, 4> counts_to_try(std::size_t tables) {
  const auto rounded_up = [&](std::size_t quarters) { return (tables * quarters + 3) / 4; };
  return {tables, rounded_up(3), rounded_up(2), rounded_up(1)};
}

PriceList::PriceList(const Assignment& assignment, const Problem& problem,
                     const PlanEvaluator& evaluator, const ShapeCatalog& catalog)
    : evaluator_(evaluator), state_(evaluator.state_size()) {
  LocalPlan plan(problem, evaluator, catalog);
  plan.assign(assignment);
  evaluator.clear(state_.data());
  for (const std::int32_t piece : plan.pieces_on(device_in_the_middle(plan.compute_ms()))) {
    evaluator.place(plan.entry_of(piece).shape, state_.data());
  }
  price_travel(plan);
}

double PriceList::compute(ShapeId shape) const {
  const float* const one = evaluator_.addend(shape);
  const std::array<const float*, 3> parts{state_.data(), one, one};
  return evaluator_.cost_of_sum(parts) - evaluator_.cost_of_sum(std::span(parts).first(2));
}

void PriceList::price_travel(const LocalPlan& plan) {
  const std::span<const std::int64_t> own = plan.dim_sums();
  const std::int64_t mean = std::accumulate(own.begin(), own.end(), std::int64_t{0}) /
                            static_cast<std::int64_t>(own.size());
  const std::int64_t more = std::max<std::int64_t>(1, mean / kTenth);
  std::vector<float> compute;
  std::vector<std::int64_t> dims;
  std::vector<DeviceWork> work;
  for (const std::int64_t added : {std::int64_t{0}, more, std::int64_t{0}}) {
    compute.insert(compute.end(), plan.compute_ms().begin(), plan.compute_ms().end());
    for (const std::int64_t one : own) dims.push_back(one + added);
    work.insert(work.end(), plan.work().begin(), plan.work().end());
  }
  std::array<Collectives, 3> collectives;
  collectives.fill(plan.collectives());
  for (Collectives& one : collectives) one.reduced_bytes += kMoreBytes * evaluator_.devices();
  collectives.back().reduced_bytes += kMoreBytes * evaluator_.devices();
  std::array<double, 3> costs{};
  Scratch scratch;
  evaluator_.plan_costs({3, compute, dims, collectives, work}, costs, scratch);
  of_dim_ = (costs[1] - costs[0]) / static_cast<double>(more);
  of_byte_ = (costs[2] - costs[0]) / static_cast<double>(kMoreBytes);
}

}  // namespace neuroshard::search
