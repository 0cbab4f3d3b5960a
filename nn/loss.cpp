#include "nn/loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace neuroshard::nn {
namespace {

struct NamedLoss {
  LossKind kind;
  std::string_view name;
};

constexpr std::array kLosses{
    NamedLoss{LossKind::kSquared, "mse"},
    NamedLoss{LossKind::kHuber, "huber"},
    NamedLoss{LossKind::kLogCosh, "log-cosh"},
    NamedLoss{LossKind::kRelative, "relative"},
    NamedLoss{LossKind::kSquaredOverTarget, "mse-over-cost"},
};

// log(cosh(x)) without overflow: |x| + log((1 + exp(-2|x|)) / 2).
double log_cosh(double x) {
  const double size = std::fabs(x);
  return size + std::log1p(std::exp(-2 * size)) - std::log(2.0);
}

}  // namespace

LossValue loss_at(const LossSpec& spec, double prediction, double target) {
  const double error = prediction - target;
  const double delta = spec.delta;
  switch (spec.kind) {
    case LossKind::kSquared:
      break;
    case LossKind::kHuber:
      if (std::fabs(error) <= delta) break;
      return {delta * (2 * std::fabs(error) - delta), std::copysign(2 * delta, error)};
    case LossKind::kLogCosh:
      return {2 * delta * delta * log_cosh(error / delta), 2 * delta * std::tanh(error / delta)};
    case LossKind::kRelative: {
      const double size = std::max(std::fabs(target), delta);
      return {error * error / (size * size), 2 * error / (size * size)};
    }
    case LossKind::kSquaredOverTarget: {
      const double size = std::max(std::fabs(target), delta);
      return {error * error / size, 2 * error / size};
    }
  }
  return {error * error, 2 * error};
}

Result<LossKind> parse_loss(std::string_view text) {
  std::string known;
  for (const NamedLoss& loss : kLosses) {
    if (loss.name == text) return loss.kind;
    known += (known.empty() ? "" : ", ") + std::string(loss.name);
  }
  return invalid_input("unknown loss \"" + std::string(text) + "\", expected one of " + known);
}

std::string_view to_string(LossKind kind) {
  for (const NamedLoss& loss : kLosses) {
    if (loss.kind == kind) return loss.name;
  }
  return "unknown";
}

}  // namespace neuroshard::nn
