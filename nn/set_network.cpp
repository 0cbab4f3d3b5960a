#include "nn/set_network.h"

#include <cassert>

namespace neuroshard::nn {

SetNetwork::SetNetwork(const Backend& backend, const SetNetworkSpec& spec)
    : backend_(&backend),
      encoder_(backend, spec.encoder),
      head_(backend, spec.head),
      sum_width_(spec.head.front().inputs),
      sums_(backend),
      d_sums_(backend) {
  assert(spec.encoder.empty() || spec.encoder.back().outputs == sum_width_);
}

Status SetNetwork::reserve(std::int64_t sets, std::int64_t members, bool with_gradients) {
  const auto count = static_cast<std::size_t>(sets) * static_cast<std::size_t>(sum_width_);
  NEUROSHARD_RETURN_IF_ERROR(encoder_.reserve(members, with_gradients));
  NEUROSHARD_RETURN_IF_ERROR(head_.reserve(sets, with_gradients));
  NEUROSHARD_RETURN_IF_ERROR(sums_.reserve(count));
  if (with_gradients) NEUROSHARD_RETURN_IF_ERROR(d_sums_.reserve(count));
  return {};
}

const float* SetNetwork::forward(const float* parameters, const SetBatch& batch) {
  const float* encoded = batch.x;
  if (!encoder_.layers().empty()) {
    encoded = encoder_.forward(parameters, batch.members, batch.x);
  }
  backend_->run(SegmentSum{.segments = batch.sets,
                           .width = sum_width_,
                           .offsets = batch.offsets,
                           .x = encoded,
                           .y = sums_.data()});
  return head_.forward(parameters + encoder_.parameters(), batch.sets, sums_.data());
}

void SetNetwork::backward(const float* parameters, const SetBatch& batch, float* d_parameters) {
  const std::size_t head_begin = encoder_.parameters();
  const bool has_encoder = !encoder_.layers().empty();
  head_.backward(parameters + head_begin, batch.sets, sums_.data(), d_parameters + head_begin,
                 has_encoder ? d_sums_.data() : nullptr);
  if (!has_encoder) return;
  backend_->run(SegmentSumBackward{.segments = batch.sets,
                                   .width = sum_width_,
                                   .offsets = batch.offsets,
                                   .dy = d_sums_.data(),
                                   .dx = encoder_.output_gradient(),
                                   .rows = batch.members});
  encoder_.backward(parameters, batch.members, batch.x, d_parameters, nullptr);
}

}  // namespace neuroshard::nn
