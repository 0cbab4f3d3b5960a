#include "cuda/training/set_encoder.h"

namespace neuroshard::cuda {

std::optional<SetEncoder> find_encoder(const OpList& list, std::size_t i) {
  if (i + kEncoderOps > list.ops().size()) return std::nullopt;
  const auto* gather = std::get_if<nn::GatherRows>(&list.ops()[i]);
  const auto* hidden = std::get_if<nn::DenseForward>(&list.ops()[i + 1]);
  const auto* output = std::get_if<nn::DenseForward>(&list.ops()[i + 2]);
  if (gather == nullptr || hidden == nullptr || output == nullptr) return std::nullopt;
  const auto rectified = [](const nn::DenseForward& layer) {
    return layer.spec.activation == nn::Activation::kRelu;
  };
  const bool fits = hidden->x == gather->out && hidden->rows == gather->rows &&
                    hidden->spec.inputs == gather->width && output->x == hidden->y &&
                    output->rows == hidden->rows && output->spec.inputs == hidden->spec.outputs &&
                    rectified(*hidden) && rectified(*output) && hidden->spec.inputs <= kNarrow &&
                    hidden->spec.outputs <= kEncoderHidden && output->spec.outputs <= kNarrow &&
                    !list.wants_mask(i + 1) && !list.wants_mask(i + 2);
  return fits ? std::optional(SetEncoder{*gather, *hidden, *output}) : std::nullopt;
}

}  // namespace neuroshard::cuda
