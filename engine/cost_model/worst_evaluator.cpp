#include "engine/cost_model/worst_evaluator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace neuroshard {
namespace {

/// Of the parts of most sums: a search adds up less than 2^31 shards pair by pair.
constexpr std::size_t kFewParts = 72;

}  // namespace

WorstEvaluator::WorstEvaluator(std::vector<Model> models) {
  for (Model& model : models) {
    const std::size_t size = model.evaluator->state_size();
    parts_.push_back({std::move(model), state_size_});
    state_size_ += size;
  }
}

template <typename MsOf>
double WorstEvaluator::worst(const MsOf& ms_of) const {
  double most = -std::numeric_limits<double>::infinity();
  for (const Part& part : parts_) {
    most = std::max(most, part.model.scale * ms_of(part) + part.model.offset_ms);
  }
  return most;
}

search::ShapeId WorstEvaluator::intern(const ShardShape& shape) {
  const auto next = static_cast<search::ShapeId>(ids_.size());
  const auto [place, is_new] = ids_.try_emplace(shape, next);
  if (!is_new) return place->second;
  for (Part& part : parts_) {
    CostEvaluator& own = *part.model.evaluator;
    part.shapes.push_back(own.intern(shape));
    const float* const addend = own.addend(part.shapes.back());
    addends_.insert(addends_.end(), addend, addend + own.state_size());
  }
  return next;
}

void WorstEvaluator::hold(std::span<const HotRows> hot) {
  for (Part& part : parts_) part.model.evaluator->hold(hot);
}

double WorstEvaluator::shape_cost(search::ShapeId shape) const {
  return worst([&](const Part& part) {
    return part.model.evaluator->shape_cost(part.shapes[static_cast<std::size_t>(shape)]);
  });
}

void WorstEvaluator::clear(float* state) const {
  for (const Part& part : parts_) part.model.evaluator->clear(state + part.at);
}

float WorstEvaluator::place(search::ShapeId shape, float* state) const {
  return static_cast<float>(worst([&](const Part& part) {
    const search::ShapeId own = part.shapes[static_cast<std::size_t>(shape)];
    return part.model.evaluator->place(own, state + part.at);
  }));
}

float WorstEvaluator::empty_cost() const {
  return static_cast<float>(
      worst([](const Part& part) { return part.model.evaluator->empty_cost(); }));
}

float WorstEvaluator::cost_of_sum(std::span<const float* const> parts) const {
  std::array<const float*, kFewParts> few;
  std::vector<const float*> many(parts.size() > few.size() ? parts.size() : 0);
  const float** const own = many.empty() ? few.data() : many.data();
  return static_cast<float>(worst([&](const Part& part) {
    std::transform(parts.begin(), parts.end(), own,
                   [&](const float* sum) { return sum + part.at; });
    return part.model.evaluator->cost_of_sum({own, parts.size()});
  }));
}

void WorstEvaluator::costs_with(search::ShapeId shape, std::span<const float> states,
                                std::span<float> costs) const {
  for (std::size_t device = 0; device < costs.size(); ++device) {
    const std::array<const float*, 2> sum{states.data() + device * state_size_, addend(shape)};
    costs[device] = cost_of_sum(sum);
  }
}

bool WorstEvaluator::devices_alike() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.model.evaluator->devices_alike(); });
}

PlanCost WorstEvaluator::evaluate(const Plan& plan) {
  PlanCost cost = parts_.front().model.evaluator->evaluate(plan);
  cost.cost_ms *= parts_.front().model.scale;
  for (std::size_t k = 1; k < parts_.size(); ++k) {
    const Model& model = parts_[k].model;
    cost.cost_ms = std::max(cost.cost_ms, model.scale * model.evaluator->evaluate(plan).cost_ms);
  }
  return cost;
}

}  // namespace neuroshard
