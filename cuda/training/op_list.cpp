#include "cuda/training/op_list.h"

#include <bit>
#include <cmath>
#include <type_traits>

namespace neuroshard::cuda {
namespace {

/// Appends arguments to a key, a word each.
class KeyWriter {
 public:
  explicit KeyWriter(std::vector<std::uint64_t>& key) : key_(key) {}

  template <typename... Values>
  void put(const Values&... values) {
    (key_.push_back(word_of(values)), ...);
  }

  void operator()(const nn::GatherRows& op) { put(op.rows, op.width, op.index, op.table, op.out); }
  void operator()(const nn::DenseForward& op) {
    put(op.rows, op.spec.inputs, op.spec.outputs, op.spec.activation, op.x, op.weight, op.bias,
        op.y);
  }
  void operator()(const nn::DenseBackward& op) {
    put(op.rows, op.spec.inputs, op.spec.outputs, op.spec.activation, op.x, op.weight, op.dy,
        op.dweight, op.dbias, op.x_activation, op.dx);
  }
  void operator()(const nn::ReluBackward& op) { put(op.count, op.y, op.dy); }
  void operator()(const nn::SegmentSum& op) { put(op.segments, op.width, op.offsets, op.x, op.y); }
  void operator()(const nn::SegmentSumBackward& op) {
    put(op.segments, op.width, op.offsets, op.dy, op.dx, op.rows);
  }
  void operator()(const nn::Loss& op) {
    put(op.count, op.spec.kind, op.spec.delta, op.prediction, op.target, op.scale, op.slope,
        op.sum);
  }
  void operator()(const nn::Adam& op) { put(op.count, op.gradient, op.parameter, op.m, op.v); }
  void operator()(const nn::MovingAverage& op) { put(op.count, op.value, op.average); }

 private:
  template <typename Value>
  static std::uint64_t word_of(const Value& value) {
    if constexpr (std::is_pointer_v<Value>) {
      return reinterpret_cast<std::uintptr_t>(value);
    } else if constexpr (std::is_same_v<Value, float>) {
      return std::bit_cast<std::uint32_t>(value);
    } else if constexpr (std::is_same_v<Value, double>) {
      return std::bit_cast<std::uint64_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }

  std::vector<std::uint64_t>& key_;
};

}  // namespace

void StepScalars::take(const nn::Adam& op) {
  const auto step = static_cast<double>(op.step);
  rate = op.rate;
  beta1 = op.beta1;
  beta2 = op.beta2;
  epsilon = op.epsilon;
  keep = 1 - op.rate * op.decay;
  m_scale = static_cast<float>(1 / (1 - std::pow(double{op.beta1}, step)));
  v_scale = static_cast<float>(1 / (1 - std::pow(double{op.beta2}, step)));
}

void StepScalars::take(const nn::MovingAverage& op) { keep_average = op.keep; }

bool is_product(std::int64_t rows, const nn::DenseSpec& spec) {
  return rows > 1 && spec.outputs > 1;
}

bool adds_in_parts(const nn::DenseBackward& op) {
  // Fewer rows are no more than some tens of steps of a product's inner loop.
  constexpr std::int64_t kManyRows = 1024;
  return op.rows >= kManyRows;
}

void OpList::add(const TrainingOp& op) {
  adams_ += std::holds_alternative<nn::Adam>(op) ? 1 : 0;
  averages_ += std::holds_alternative<nn::MovingAverage>(op) ? 1 : 0;
  ops_.push_back(op);
  key_.push_back(op.index());
  std::visit(KeyWriter(key_), op);
}

void OpList::clear() {
  ops_.clear();
  key_.clear();
  adams_ = 0;
  averages_ = 0;
}

std::optional<StepScalars> OpList::scalars(std::size_t first, std::size_t count) const {
  std::optional<StepScalars> found;
  const auto take = [&](const auto* op) {
    if (op == nullptr) return;
    if (!found) found.emplace();
    found->take(*op);
  };
  for (const TrainingOp& op : ops().subspan(first, count)) {
    take(std::get_if<nn::Adam>(&op));
    take(std::get_if<nn::MovingAverage>(&op));
  }
  return found;
}

bool OpList::wants_mask(std::size_t i) const {
  const auto* forward = std::get_if<nn::DenseForward>(&ops_[i]);
  if (forward == nullptr || forward->spec.activation != nn::Activation::kRelu) return false;
  for (std::size_t j = i + 1; j < ops_.size(); ++j) {
    const auto* backward = std::get_if<nn::DenseBackward>(&ops_[j]);
    if (backward == nullptr || backward->x != forward->y) continue;
    return backward->dx != nullptr && ends_below(j) == nullptr &&
           backward->x_activation == nn::Activation::kRelu && backward->rows == forward->rows &&
           backward->spec.inputs == forward->spec.outputs &&
           is_product(backward->rows, backward->spec);
  }
  return false;
}

const nn::DenseBackward* OpList::ends_below(std::size_t i) const {
  const auto* op = std::get_if<nn::DenseBackward>(&ops_[i]);
  if (op == nullptr || op->dx == nullptr || i + 1 == ops_.size()) return nullptr;
  const auto* below = std::get_if<nn::DenseBackward>(&ops_[i + 1]);
  const bool fits = below != nullptr && below->dx == nullptr && below->dy == op->dx &&
                    below->rows == op->rows && below->spec.outputs == op->spec.inputs &&
                    op->x_activation == nn::Activation::kRelu && adds_in_parts(*below) &&
                    below->spec.inputs <= kNarrow && op->spec.outputs <= kNarrow;
  return fits ? below : nullptr;
}

bool OpList::goes_back(const TrainingOp& op) {
  return std::holds_alternative<nn::DenseBackward>(op) ||
         std::holds_alternative<nn::ReluBackward>(op) ||
         std::holds_alternative<nn::SegmentSumBackward>(op);
}

bool OpList::ends_step(std::size_t i) const {
  if (i + 2 >= ops_.size()) return false;
  const auto* sum = std::get_if<nn::SegmentSum>(&ops_[i]);
  const auto* adam = std::get_if<nn::Adam>(&ops_[i + 1]);
  const auto* average = std::get_if<nn::MovingAverage>(&ops_[i + 2]);
  return sum != nullptr && adam != nullptr && average != nullptr && sum->segments == 1 &&
         sum->y == adam->gradient && sum->width == adam->count &&
         average->value == adam->parameter && average->count == adam->count;
}

const float* OpList::gate_behind(std::size_t i) const {
  if (i + 1 >= ops_.size()) return nullptr;
  const auto* sum = std::get_if<nn::SegmentSumBackward>(&ops_[i]);
  const auto* relu = std::get_if<nn::ReluBackward>(&ops_[i + 1]);
  const bool fits = sum != nullptr && relu != nullptr && relu->dy == sum->dx &&
                    relu->count == sum->rows * sum->width;
  return fits ? relu->y : nullptr;
}

}  // namespace neuroshard::cuda
