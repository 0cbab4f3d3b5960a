#include "engine/cost_model/column_costs.h"

#include <algorithm>
#include <limits>

#include "nn/max_dot_columns.h"

namespace neuroshard {

ColumnCosts::ColumnCosts(const ComputePredictor& compute, std::int32_t devices)
    : compute_(compute), size_(compute.state_size()), most_(size_) {
  const std::size_t lanes = nn::kColumnLanes;
  const std::size_t blocks = (static_cast<std::size_t>(devices) + lanes - 1) / lanes;
  columns_.resize(blocks * size_ * lanes);
  costs_.resize(blocks * lanes);
}

void ColumnCosts::begin() {
  std::fill(most_.begin(), most_.end(), -std::numeric_limits<float>::infinity());
  AlignedVector<float> empty(size_);
  compute_.clear(empty.data());
  for (std::size_t device = 0; device < costs_.size(); ++device) change(device, empty.data());
}

void ColumnCosts::change(std::size_t device, const float* state) {
  constexpr std::size_t kLanes = nn::kColumnLanes;
  float* const own = columns_.data() + device / kLanes * kLanes * size_ + device % kLanes;
  for (std::size_t i = 0; i < size_; ++i) {
    const float value = state[i];
    own[i * kLanes] = value;
    if (value <= most_[i]) continue;
    most_[i] = value == value ? value : std::numeric_limits<float>::infinity();
  }
}

void ColumnCosts::costs_with(search::ShapeId shape, std::span<const float> states,
                             std::span<float> costs) {
  const bool whole_blocks = costs.size() == costs_.size();
  const std::span<float> out = whole_blocks ? costs : std::span<float>(costs_);
  if (!compute_.costs_with(shape, {columns_, most_}, out)) {
    compute_.costs_with(shape, states, costs);
  } else if (!whole_blocks) {
    std::copy_n(costs_.begin(), costs.size(), costs.begin());
  }
}

}  // namespace neuroshard
