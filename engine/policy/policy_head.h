#pragma once

#include <cstddef>
#include <span>

#include "engine/core/aligned_vector.h"
#include "nn/isa.h"
#include "nn/mlp.h"

namespace neuroshard {

/// Most units behind the sum: bounds what a file can have us compute for each device.
inline constexpr int kMostPolicyUnits = 1024;

/// The second half of a policy's network, laid out for many devices at a time: w2 . relu(A + P + C)
/// + b of policy_model.h. A value; const access is thread-safe.
class PolicyHead {
 public:
  /// From the parameters of a head of `hidden` units, a multiple of 8, as nn::Mlp stores them.
  /// Scores are the same on every compiler with kScalar, the reference; there is a faster way for
  /// AVX2. REQUIRES that this processor has `isa`.
  PolicyHead(int hidden, std::span<const float> parameters, nn::Isa isa = nn::Isa::kScalar);
  explicit PolicyHead(const nn::Mlp& head, nn::Isa isa = nn::Isa::kScalar)
      : PolicyHead(head.layer(0).outputs, head.parameters(), isa) {}

  [[nodiscard]] int hidden() const { return hidden_; }
  // [hidden] each: of an input of the context, what is added, and of the units in the score.
  [[nodiscard]] const float* context_weights(int input) const {
    return context_.data() + static_cast<std::ptrdiff_t>(input) * hidden_;
  }
  [[nodiscard]] const float* bias() const { return bias_.data(); }
  [[nodiscard]] const float* out() const { return out_.data(); }

  /// scores[d] of devices whose sums, times `scale`, are the rows of `held` [devices, hidden], for
  /// the piece with `piece` [hidden], in `context` [devices, kPolicyContext]. Into `units`
  /// [devices, hidden], if not null, goes what is behind the ReLU; that is always the reference.
  void scores(std::span<const float> held, float scale, const float* piece,
              std::span<const float> context, std::span<float> scores, float* units) const;

  /// Adds gradients of what scores() did, given those of the scores: by the parameters to
  /// `d_parameters`, as nn::Mlp stores them, by `held`, times the scale, to d_held
  /// [devices, hidden] and by `piece`
  /// to d_piece [hidden].
  void add_gradients(std::span<const float> context, std::span<const float> units,
                     std::span<const float> d_scores, std::span<float> d_parameters, float* d_held,
                     float* d_piece) const;

 private:
  int hidden_;
  bool avx2_;
  AlignedVector<float> context_;  // [kPolicyContext, hidden], turned
  AlignedVector<float> bias_;     // [hidden]
  AlignedVector<float> out_;      // [hidden]
  float out_bias_;
};

/// Parameters of a head with so many hidden units.
std::size_t policy_head_parameters(int hidden);

}  // namespace neuroshard
