#pragma once

#include <string>
#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "io/safetensors.h"

namespace neuroshard {

/// Takes named tensors out of a file, so that what nobody took can be reported as unknown. Errors
/// name the tensor, not the file.
class TensorReader {
 public:
  explicit TensorReader(io::TensorFile file) : tensors_(std::move(file.tensors)) {}

  /// Whether any tensor's name starts with `prefix`.
  [[nodiscard]] bool has_prefix(const std::string& prefix) const;
  /// "<prefix>feature_mean" and "<prefix>feature_std", one-dimensional.
  Result<Scaling> take_scaling(const std::string& prefix);
  /// "<prefix>0.weight", "<prefix>0.bias", "<prefix>1.weight", ... as one network: ReLU after every
  /// layer but the last, which has `last`. At least one layer, each fitting the one before.
  Result<nn::Mlp> take_mlp(const std::string& prefix, nn::Activation last);
  /// Error when a tensor has not been taken.
  [[nodiscard]] Status finish() const;

 private:
  Result<io::Tensor> take(const std::string& name);
  Result<std::vector<float>> take_vector(const std::string& name, std::int64_t size);

  std::map<std::string, io::Tensor> tensors_;
};

/// The same names, written.
void put_scaling(const Scaling& scaling, const std::string& prefix, io::TensorFile& file);
void put_mlp(const nn::Mlp& mlp, const std::string& prefix, io::TensorFile& file);

}  // namespace neuroshard
