#include "engine/cost_model/compute_predictor.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "nn/max_dot_columns.h"

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
                                   std::int32_t devices, const nn::InferenceKernels& kernels,
                                   bool replicas_apart)
    : kernels_(kernels),
      workload_(workload),
      devices_(devices),
      max_dim_(model.max_dim),
      features_(model.features),
      scaling_(model.scaling),
      target_(model.target),
      replicas_apart_(replicas_apart),
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
  lifted_.resize(kTogether * width);
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
  fresh_.clear();  // shapes that wait for encode()
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const auto next = static_cast<std::int32_t>(shape_costs_.size() + fresh_.size());
    ShardShape seen = shapes[k];
    seen.row_blocks = 0;  // how rows were dealt out is no feature
    seen.in_order = false;
    seen.device_group = 0;
    const auto [entry, is_new] = ids_.try_emplace(seen, next);
    ids[k] = entry->second;
    if (!is_new) continue;
    write_inputs(shapes[k], inputs_.data() + fresh_.size() * features);
    fresh_.push_back(shapes[k]);
    if (fresh_.size() < kTogether) continue;
    encode(fresh_);
    fresh_.clear();
  }
  if (!fresh_.empty()) encode(fresh_);
}

double ComputePredictor::cost_if_known(ShardShape shape) const {
  shape.row_blocks = 0;
  shape.in_order = false;
  shape.device_group = 0;
  const auto entry = ids_.find(shape);
  return entry == ids_.end() ? 0 : shape_cost(entry->second);
}

/// In how many equal parts of its columns the networks know the shape.
std::int32_t ComputePredictor::parts_of(const ShardShape& shape) const {
  return (shape.dim + max_dim_ - 1) / max_dim_;
}

/// Of one of its parts.
void ComputePredictor::write_inputs(const ShardShape& shape, float* inputs) const {
  const Table& table = workload_.tables[static_cast<std::size_t>(shape.table)];
  const auto count = static_cast<std::size_t>(features_.size());
  ShardShape part = shape;
  const std::int32_t parts = parts_of(shape);
  part.dim = (shape.dim + parts - 1) / parts;
  features_.compute({table, part, workload_.batch_size, devices_}, {inputs, count});
  for (std::size_t k = 0; k < count; ++k) {
    inputs[k] = (inputs[k] - scaling_.mean[k]) / scaling_.std[k];
  }
}

/// The shapes whose inputs are in inputs_ get the next numbers.
void ComputePredictor::encode(std::span<const ShardShape> shapes) {
  const std::size_t width = bias_.size();
  const auto rows = static_cast<std::int64_t>(shapes.size());
  const std::size_t before = contributions_.size();
  contributions_.resize(before + shapes.size() * width);
  encoder_.forward(rows, inputs_.data(), encoder_.inputs(), scratch_.data(), encodings_.data());
  lift_.forward(rows, encodings_.data(), encoder_.output_stride(), scratch_.data(), lifted_.data());
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    float* const contribution = contributions_.data() + before + k * width;
    const auto parts = static_cast<float>(parts_of(shapes[k]));
    std::transform(lifted_.data() + k * width, lifted_.data() + (k + 1) * width, contribution,
                   [parts](float of_part) { return parts * of_part; });
    if (replicas_apart_ && shapes[k].replicated && shapes[k].kernel.hot_rows == 0) {
      std::fill_n(contribution, width, 0.0f);
    }
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

bool ComputePredictor::costs_with(std::int32_t shape, const Columns& columns,
                                  std::span<float> costs) const {
  if (!kernels_.max_dot_columns({.size = static_cast<int>(bias_.size()),
                                 .blocks = costs.size() / nn::kColumnLanes,
                                 .columns = columns.values.data(),
                                 .most = columns.most.data(),
                                 .addend = addend(shape),
                                 .weight = output_weight_.data(),
                                 .offset = offsets_[static_cast<std::size_t>(shape)],
                                 .out = costs.data()})) {
    return false;
  }
  if (target_ == CostTarget::kMilliseconds) return true;
  for (float& cost : costs) cost = to_ms(cost);
  return true;
}

void ComputePredictor::clear(float* state) const { std::copy(held_.begin(), held_.end(), state); }

}  // namespace neuroshard
