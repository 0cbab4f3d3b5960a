#include "cuda/training/set_head.h"

namespace neuroshard::cuda {
namespace {

template <typename Op>
bool take(const TrainingOp& op, Op& to) {
  const Op* const found = std::get_if<Op>(&op);
  if (found != nullptr) to = *found;
  return found != nullptr;
}

bool same_layer(const nn::DenseForward& ahead, const nn::DenseBackward& back) {
  return back.rows == ahead.rows && back.spec.inputs == ahead.spec.inputs &&
         back.spec.outputs == ahead.spec.outputs && back.x == ahead.x &&
         back.weight == ahead.weight;
}

bool fits_a_warp(const SetHead& head) {
  const nn::DenseSpec& hidden = head.hidden.spec;
  const nn::DenseSpec& output = head.output.spec;
  return hidden.inputs == head.sum.width && hidden.inputs <= kHeadInputs &&
         hidden.outputs <= kHeadHidden && hidden.activation == nn::Activation::kRelu &&
         output.inputs == hidden.outputs && output.outputs == 1 &&
         output.activation == nn::Activation::kNone;
}

/// Whether each operation takes what the one before it gives.
bool chained(const SetHead& head) {
  const std::int64_t sets = head.sum.segments;
  return head.hidden.rows == sets && head.hidden.x == head.sum.y && head.output.rows == sets &&
         head.output.x == head.hidden.y && head.loss.count == sets &&
         head.loss.prediction == head.output.y && same_layer(head.output, head.output_back) &&
         head.output_back.dy == head.loss.slope &&
         head.output_back.x_activation == nn::Activation::kRelu && head.output_back.dx != nullptr &&
         same_layer(head.hidden, head.hidden_back) && head.hidden_back.dy == head.output_back.dx &&
         head.hidden_back.x_activation == nn::Activation::kNone && head.hidden_back.dx != nullptr &&
         head.spread.dy == head.hidden_back.dx && head.spread.segments == sets &&
         head.spread.width == head.sum.width && head.spread.offsets == head.sum.offsets;
}

}  // namespace

std::optional<SetHead> find_head(std::span<const TrainingOp> ops) {
  if (ops.size() < kHeadOps) return std::nullopt;
  SetHead head{};
  const bool found = take(ops[0], head.sum) && take(ops[1], head.hidden) &&
                     take(ops[2], head.output) && take(ops[3], head.loss) &&
                     take(ops[4], head.output_back) && take(ops[5], head.hidden_back) &&
                     take(ops[6], head.spread) && take(ops[7], head.gate);
  if (!found || !fits_a_warp(head) || !chained(head)) return std::nullopt;
  const bool gated = head.gate.dy == head.spread.dx && head.gate.y == head.sum.x &&
                     head.gate.count == head.spread.rows * head.spread.width;
  return gated ? std::optional(head) : std::nullopt;
}

}  // namespace neuroshard::cuda
