#include "engine/cost_model/compute_predictor.h"

#include <algorithm>
#include <numeric>

namespace neuroshard {
namespace {

/// The head's first layer as a network of its own: linear, bias left out.
nn::Mlp first_layer(const nn::Mlp& head) {
  const nn::DenseSpec& spec = head.layer(0);
  nn::Mlp lift({{spec.inputs, spec.outputs, nn::Activation::kNone}});
  std::copy(head.weight(0).begin(), head.weight(0).end(), lift.weight(0).begin());
  return lift;
}

}  // namespace

std::size_t ComputePredictor::ShapeHash::operator()(const ShardShape& shape) const {
  std::uint64_t hash = static_cast<std::uint64_t>(shape.rows) * 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ static_cast<std::uint32_t>(shape.table)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ static_cast<std::uint32_t>(shape.dim)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

ComputePredictor::ComputePredictor(const ComputeModel& model, const Workload& workload,
                                   const nn::InferenceKernels& kernels)
    : kernels_(kernels),
      workload_(workload),
      features_(model.features),
      scaling_(model.scaling),
      target_(model.target),
      encoder_(model.table, kernels),
      lift_(first_layer(model.head), kernels),
      output_bias_(model.head.bias(1)[0]) {
  const auto width = static_cast<std::size_t>(lift_.output_stride());
  bias_.assign(width, 0.0f);
  output_weight_.assign(width, 0.0f);
  std::copy(model.head.bias(0).begin(), model.head.bias(0).end(), bias_.begin());
  std::copy(model.head.weight(1).begin(), model.head.weight(1).end(), output_weight_.begin());
  inputs_.resize(static_cast<std::size_t>(features_.size()));
  encoding_.resize(static_cast<std::size_t>(encoder_.output_stride()));
  scratch_.resize(std::max(encoder_.scratch_size(1), lift_.scratch_size(1)));
  state_.resize(width);
  const AlignedVector<float> nothing(width, 0.0f);
  clear(state_.data());
  empty_cost_ = to_ms(kernels_.add_relu_dot(static_cast<int>(width), nothing.data(),
                                            output_weight_.data(), state_.data()) +
                      output_bias_);
}

std::int32_t ComputePredictor::intern(const ShardShape& shape) {
  const auto [entry, is_new] =
      ids_.try_emplace(shape, static_cast<std::int32_t>(shape_costs_.size()));
  if (!is_new) return entry->second;
  contributions_.resize(contributions_.size() + bias_.size());
  float* contribution = contributions_.data() + contributions_.size() - bias_.size();
  encode(shape, contribution);
  offsets_.push_back(
      static_cast<float>(std::inner_product(output_weight_.begin(), output_weight_.end(),
                                            contribution, static_cast<double>(output_bias_))));
  clear(state_.data());
  shape_costs_.push_back(place(entry->second, state_.data()));
  return entry->second;
}

void ComputePredictor::encode(const ShardShape& shape, float* contribution) {
  const Table& table = workload_.tables[static_cast<std::size_t>(shape.table)];
  features_.compute({table, shape, workload_.batch_size}, inputs_);
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    inputs_[k] = (inputs_[k] - scaling_.mean[k]) / scaling_.std[k];
  }
  encoder_.forward(1, inputs_.data(), encoder_.inputs(), scratch_.data(), encoding_.data());
  lift_.forward(1, encoding_.data(), encoder_.output_stride(), scratch_.data(), contribution);
}

void ComputePredictor::costs_with(std::int32_t shape, std::span<const float> states,
                                  std::span<float> costs) const {
  kernels_.max_dot_rows(static_cast<int>(bias_.size()), static_cast<std::int64_t>(costs.size()),
                        states.data(), addend(shape), output_weight_.data(), costs.data());
  const float offset = offsets_[static_cast<std::size_t>(shape)];
  // The choice outside of the loops: both are then as fast as they can be, and the first is
  // vectors.
  if (target_ == CostTarget::kMilliseconds) {
    for (float& cost : costs) {
      const float ms = cost + offset;
      cost = ms == ms ? ms : std::numeric_limits<float>::infinity();
    }
  } else {
    for (float& cost : costs) cost = to_ms(cost + offset);
  }
}

void ComputePredictor::clear(float* state) const { std::copy(bias_.begin(), bias_.end(), state); }

}  // namespace neuroshard
