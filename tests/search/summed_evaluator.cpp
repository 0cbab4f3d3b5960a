#include "tests/search/summed_evaluator.h"

#include <algorithm>

namespace neuroshard::test {

search::ShapeId SummedEvaluator::intern(const ShardShape& shape) {
  const auto [entry, is_new] = ids_.try_emplace({shape.table, shape.rows, shape.dim},
                                                static_cast<search::ShapeId>(addends_.size()));
  if (is_new) {
    const auto table = static_cast<std::size_t>(shape.table);
    const float share =
        static_cast<float>(shape.dim) / static_cast<float>(workload_.tables[table].dim) *
        (static_cast<float>(shape.rows) / static_cast<float>(workload_.tables[table].rows));
    addends_.push_back(addend_of(table, share));
  }
  return entry->second;
}

double SummedEvaluator::shape_cost(search::ShapeId shape) const {
  return cost_of_state(addend(shape));
}

void SummedEvaluator::clear(float* state) const { std::fill_n(state, 8, 0.0f); }

float SummedEvaluator::place(search::ShapeId shape, float* state) const {
  for (std::size_t k = 0; k < 8; ++k) state[k] += addend(shape)[k];
  return cost_of_state(state);
}

float SummedEvaluator::empty_cost() const {
  const State nothing{};
  return cost_of_state(nothing.data());
}

const float* SummedEvaluator::addend(search::ShapeId shape) const {
  return addends_[static_cast<std::size_t>(shape)].data();
}

float SummedEvaluator::cost_of_sum(std::span<const float* const> parts) const {
  State sum{};
  for (const float* part : parts) {
    for (std::size_t k = 0; k < 8; ++k) sum[k] += part[k];
  }
  return cost_of_state(sum.data());
}

void SummedEvaluator::costs_with(search::ShapeId shape, std::span<const float> states,
                                 std::span<float> costs) const {
  for (std::size_t d = 0; d < costs.size(); ++d) {
    State state{};
    std::copy_n(states.begin() + static_cast<std::ptrdiff_t>(8 * d), 8, state.begin());
    costs[d] = place(shape, state.data());
  }
}

}  // namespace neuroshard::test
