#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/flags/flags.h"
#include "engine/training/train.h"

namespace neuroshard::apps {

/// The flags of nn-fitting that `train compute` and `train comm` share. What is not given keeps the
/// recipe's value.
class FitFlags {
 public:
  void declare(FlagSet& flags);
  /// Puts the given values over those of `options`.
  Status apply(FitOptions& options) const;

 private:
  std::optional<std::string> loss_;
  std::optional<double> loss_delta_;
  std::optional<std::int32_t> epochs_;
  std::optional<std::int32_t> patience_;
  std::optional<std::int32_t> batch_size_;
  std::optional<double> learning_rate_;
  std::optional<std::string> schedule_;
  std::optional<double> weight_decay_;
  std::optional<double> average_;
  std::optional<double> target_scale_;
  std::optional<std::int32_t> members_;
  std::uint64_t seed_ = 0;
};

}  // namespace neuroshard::apps
