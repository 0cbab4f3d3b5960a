#include "engine/cost_model/cost_model_tensors.h"

#include <algorithm>
#include <span>
#include <utility>

#include "io/text.h"

namespace neuroshard {
namespace {

/// Most values along a dimension: bounds what a hostile file can make us allocate or overflow.
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kAnySize = -1;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ",";
    text += std::to_string(size);
  }
  return text + "]";
}

Status wrong_shape(const std::string& name, const io::Tensor& tensor, const std::string& expected) {
  return invalid_input(name + ": shape " + shape_text(tensor.shape) + ", expected " + expected);
}

bool all_in_range(const std::vector<std::int64_t>& shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](std::int64_t size) { return size >= 1 && size <= kMaxWidth; });
}

}  // namespace

bool TensorReader::has_prefix(const std::string& prefix) const {
  const auto next = tensors_.lower_bound(prefix);
  return next != tensors_.end() && next->first.starts_with(prefix);
}

Result<io::Tensor> TensorReader::take(const std::string& name) {
  auto node = tensors_.extract(name);
  if (node.empty()) return invalid_input(name + ": missing");
  return std::move(node.mapped());
}

Result<std::vector<float>> TensorReader::take_vector(const std::string& name, std::int64_t size) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::Tensor tensor, take(name));
  if (tensor.shape.size() != 1 || !all_in_range(tensor.shape) ||
      (size != kAnySize && tensor.shape[0] != size)) {
    return wrong_shape(name, tensor, size == kAnySize ? "one dimension" : shape_text({size}));
  }
  return std::move(tensor.values);
}

Result<Scaling> TensorReader::take_scaling(const std::string& prefix) {
  Scaling scaling;
  NEUROSHARD_ASSIGN_OR_RETURN(scaling.mean, take_vector(prefix + "feature_mean", kAnySize));
  NEUROSHARD_ASSIGN_OR_RETURN(scaling.std, take_vector(prefix + "feature_std", kAnySize));
  return scaling;
}

Result<nn::Mlp> TensorReader::take_mlp(const std::string& prefix, nn::Activation last) {
  std::vector<nn::DenseSpec> layers;
  std::vector<std::vector<float>> parameters;
  for (int k = 0; k == 0 || has_prefix(prefix + std::to_string(k) + "."); ++k) {
    const std::string name = prefix + std::to_string(k);
    NEUROSHARD_ASSIGN_OR_RETURN(io::Tensor weight, take(name + ".weight"));
    if (weight.shape.size() != 2 || !all_in_range(weight.shape)) {
      return wrong_shape(name + ".weight", weight, "two dimensions, [outputs,inputs]");
    }
    const auto outputs = static_cast<int>(weight.shape[0]);
    const auto inputs = static_cast<int>(weight.shape[1]);
    if (k > 0 && inputs != layers.back().outputs) {
      return wrong_shape(name + ".weight", weight, shape_text({outputs, layers.back().outputs}));
    }
    NEUROSHARD_ASSIGN_OR_RETURN(std::vector<float> bias, take_vector(name + ".bias", outputs));
    layers.push_back({inputs, outputs, nn::Activation::kRelu});
    parameters.push_back(std::move(weight.values));
    parameters.push_back(std::move(bias));
  }
  layers.back().activation = last;
  nn::Mlp mlp(layers);
  for (std::size_t k = 0; k < mlp.depth(); ++k) {
    std::copy(parameters[2 * k].begin(), parameters[2 * k].end(), mlp.weight(k).begin());
    std::copy(parameters[2 * k + 1].begin(), parameters[2 * k + 1].end(), mlp.bias(k).begin());
  }
  return mlp;
}

Status TensorReader::finish() const {
  if (tensors_.empty()) return {};
  return invalid_input("unknown tensor " + io::excerpt(tensors_.begin()->first));
}

void put_scaling(const Scaling& scaling, const std::string& prefix, io::TensorFile& file) {
  const auto size = static_cast<std::int64_t>(scaling.mean.size());
  file.tensors[prefix + "feature_mean"] = {{size}, scaling.mean};
  file.tensors[prefix + "feature_std"] = {{size}, scaling.std};
}

void put_mlp(const nn::Mlp& mlp, const std::string& prefix, io::TensorFile& file) {
  for (std::size_t k = 0; k < mlp.depth(); ++k) {
    const std::string name = prefix + std::to_string(k);
    const std::span<const float> weight = mlp.weight(k);
    const std::span<const float> bias = mlp.bias(k);
    file.tensors[name + ".weight"] = {{mlp.layer(k).outputs, mlp.layer(k).inputs},
                                      {weight.begin(), weight.end()}};
    file.tensors[name + ".bias"] = {{mlp.layer(k).outputs}, {bias.begin(), bias.end()}};
  }
}

}  // namespace neuroshard
