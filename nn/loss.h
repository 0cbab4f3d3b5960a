#pragma once

#include <string_view>

#include "engine/core/status.h"

namespace neuroshard::nn {

/// What is minimised, of one prediction p and its target t, with e = p - t and d = LossSpec::delta.
enum class LossKind {
  kSquared,   ///< e^2
  kHuber,     ///< e^2 up to |e| = d, then d (2 |e| - d): large errors pull no harder than d
  kLogCosh,   ///< 2 d^2 log(cosh(e / d)): e^2 near 0, 2 d |e| far away, smooth everywhere
  kRelative,  ///< (e / max(|t|, d))^2: every magnitude counts the same
  kSquaredOverTarget,  ///< e^2 / max(|t|, d): between squared and relative
};

struct LossSpec {
  LossKind kind = LossKind::kSquared;
  float delta = 1.0f;  ///< the scale of the kinds that have one, in units of the target; > 0
};

/// Loss of one prediction and its derivative by the prediction.
struct LossValue {
  double value;
  double slope;
};
LossValue loss_at(const LossSpec& spec, double prediction, double target);

/// "mse", "huber", "log-cosh", "relative", "mse-over-cost"; the error lists them.
Result<LossKind> parse_loss(std::string_view text);
std::string_view to_string(LossKind kind);

}  // namespace neuroshard::nn
