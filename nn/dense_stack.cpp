#include "nn/dense_stack.h"

#include <utility>

namespace neuroshard::nn {

DenseStack::DenseStack(const Backend& backend, std::vector<DenseSpec> layers)
    : backend_(&backend), layers_(std::move(layers)) {
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    outputs_.emplace_back(backend);
    gradients_.emplace_back(backend);
  }
}

Status DenseStack::reserve(std::int64_t rows, bool with_gradients) {
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const auto count =
        static_cast<std::size_t>(rows) * static_cast<std::size_t>(layers_[k].outputs);
    NEUROSHARD_RETURN_IF_ERROR(outputs_[k].reserve(count));
    if (with_gradients) NEUROSHARD_RETURN_IF_ERROR(gradients_[k].reserve(count));
  }
  return {};
}

const float* DenseStack::forward(const float* parameters, std::int64_t rows, const float* x) {
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const std::int64_t weights = std::int64_t{layers_[k].inputs} * layers_[k].outputs;
    backend_->run(DenseForward{.rows = rows,
                               .spec = layers_[k],
                               .x = x,
                               .weight = parameters,
                               .bias = parameters + weights,
                               .y = outputs_[k].data()});
    x = outputs_[k].data();
    parameters += parameter_count(layers_[k]);
  }
  return x;
}

void DenseStack::backward(const float* parameters, std::int64_t rows, const float* x,
                          float* d_parameters, float* dx) {
  if (layers_.back().activation == Activation::kRelu) {
    backend_->run(ReluBackward{.count = rows * layers_.back().outputs,
                               .y = outputs_.back().data(),
                               .dy = gradients_.back().data()});
  }
  std::size_t offset = this->parameters();
  for (std::size_t k = layers_.size(); k-- > 0;) {
    offset -= parameter_count(layers_[k]);
    const std::int64_t weights = std::int64_t{layers_[k].inputs} * layers_[k].outputs;
    backend_->run(DenseBackward{
        .rows = rows,
        .spec = layers_[k],
        .x = k > 0 ? outputs_[k - 1].data() : x,
        .weight = parameters + offset,
        .dy = gradients_[k].data(),
        .dweight = d_parameters + offset,
        .dbias = d_parameters + offset + weights,
        .x_activation = k > 0 ? layers_[k - 1].activation : Activation::kNone,
        .dx = k > 0 ? gradients_[k - 1].data() : dx,
    });
  }
}

}  // namespace neuroshard::nn
