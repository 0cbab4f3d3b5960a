#pragma once

#include <optional>
#include <span>
#include <string>

#include "apps/flags/flags.h"
#include "engine/core/status.h"
#include "engine/cost_model/shipped_models.h"

namespace neuroshard::apps {

/// --model FILE and --profile NAME|FILE: the dense part beside the tables.
struct DenseModelFlags {
  std::optional<std::string> model;
  std::optional<std::string> profile;

  void declare(FlagSet& flags);
  /// Has the cost models cost whole training steps, where --model is given. Errors: kInvalidInput
  /// naming the flag or the file to blame.
  [[nodiscard]] Status apply(std::span<NamedCostModels> all) const;
};

}  // namespace neuroshard::apps
