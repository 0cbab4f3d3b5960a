#include "engine/cost_model/compute_predictor.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace neuroshard {
namespace {

constexpr std::size_t kTogether =
    36;  // shapes encoded at once: what they need fits the first cache

/// The head's first layer as a network of its own: linear, bias left out.
nn::Mlp first_layer(const nn::Mlp& head) {
  const nn::DenseSpec& spec = head.layer(0);
  nn::Mlp lift({{spec.inputs, spec.outputs, nn::Activation::kNone}});
  std::copy(head.weight(0).begin(), head.weight(0).end(), lift.weight(0).begin());
  return lift;
}

/// In eight running sums, so that additions need not wait for each other. REQUIRES a multiple of
/// eight values.
double dot(std::span<const float> a, const float* b) {
  std::array<double, 8> sums{};
  for (std::size_t i = 0; i < a.size(); i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      sums[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
    }
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

ComputePredictor::ComputePredictor(const ComputeModel& model, const Workload& workload,
                                   std::int32_t devices, const nn::InferenceKernels& kernels)
    : kernels_(kernels),
      workload_(workload),
      devices_(devices),
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
  inputs_.resize(kTogether * static_cast<std::size_t>(features_.size()));
  encodings_.resize(kTogether * static_cast<std::size_t>(encoder_.output_stride()));
  scratch_.resize(std::max(encoder_.scratch_size(kTogether), lift_.scratch_size(kTogether)));
  state_.resize(width);
  ids_.reserve(workload_.tables.size());
  hold({});
}

void ComputePredictor::hold(std::span<const ShardShape> shapes) {
  std::vector<std::int32_t> ids(shapes.size());
  intern_all(shapes, ids);
  held_ = bias_;
  const AlignedVector<float> nothing(held_.size(), 0.0f);
  empty_cost_ = to_ms(kernels_.add_relu_dot(static_cast<int>(held_.size()), nothing.data(),
                                            output_weight_.data(), held_.data()) +
                      output_bias_);
  for (const std::int32_t id : ids) empty_cost_ = place(id, held_.data());
}

void ComputePredictor::intern_all(std::span<const ShardShape> shapes, std::span<std::int32_t> ids) {
  const auto features = static_cast<std::size_t>(features_.size());
  std::size_t fresh = 0;  // shapes that wait for encode()
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const auto next = static_cast<std::int32_t>(shape_costs_.size() + fresh);
    ShardShape seen = shapes[k];
    seen.row_blocks = 0;  // how rows were dealt out is no feature
    seen.in_order = false;
    seen.device_group = 0;
    const auto [entry, is_new] = ids_.try_emplace(seen, next);
    ids[k] = entry->second;
    if (!is_new) continue;
    write_inputs(shapes[k], inputs_.data() + fresh * features);
    if (++fresh < kTogether) continue;
    encode(fresh);
    fresh = 0;
  }
  if (fresh > 0) encode(fresh);
}

void ComputePredictor::write_inputs(const ShardShape& shape, float* inputs) const {
  const Table& table = workload_.tables[static_cast<std::size_t>(shape.table)];
  const auto count = static_cast<std::size_t>(features_.size());
  features_.compute({table, shape, workload_.batch_size, devices_}, {inputs, count});
  for (std::size_t k = 0; k < count; ++k) {
    inputs[k] = (inputs[k] - scaling_.mean[k]) / scaling_.std[k];
  }
}

/// The shapes in inputs_, `count` of them, get the next numbers.
void ComputePredictor::encode(std::size_t count) {
  const std::size_t width = bias_.size();
  const auto rows = static_cast<std::int64_t>(count);
  const std::size_t before = contributions_.size();
  contributions_.resize(before + count * width);
  encoder_.forward(rows, inputs_.data(), encoder_.inputs(), scratch_.data(), encodings_.data());
  lift_.forward(rows, encodings_.data(), encoder_.output_stride(), scratch_.data(),
                contributions_.data() + before);
  for (std::size_t k = 0; k < count; ++k) {
    const auto shape = static_cast<std::int32_t>(shape_costs_.size());
    offsets_.push_back(static_cast<float>(dot(output_weight_, addend(shape)) + output_bias_));
    state_ = bias_;
    shape_costs_.push_back(place(shape, state_.data()));
  }
}

void ComputePredictor::costs_with(std::int32_t shape, std::span<const float> states,
                                  std::span<float> costs) const {
  kernels_.max_dot_rows(static_cast<int>(bias_.size()), static_cast<std::int64_t>(costs.size()),
                        states.data(), addend(shape), output_weight_.data(),
                        offsets_[static_cast<std::size_t>(shape)], costs.data());
  if (target_ == CostTarget::kMilliseconds) return;
  for (float& cost : costs) cost = to_ms(cost);
}

void ComputePredictor::clear(float* state) const { std::copy(held_.begin(), held_.end(), state); }

}  // namespace neuroshard
