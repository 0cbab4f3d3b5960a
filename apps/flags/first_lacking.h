#pragma once

#include <algorithm>
#include <span>

#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/shipped_models.h"

namespace neuroshard::apps {

/// Of the cost models of one plan, the first that lacks what the member says; if none does, the
/// first. REQUIRES one.
inline const NamedCostModels& first_lacking(bool Capabilities::*known,
                                            std::span<const NamedCostModels> models) {
  const auto found = std::ranges::find_if(
      models, [&](const NamedCostModels& one) { return !(capabilities(one.models).*known); });
  return found == models.end() ? models.front() : *found;
}

/// The same of the first that knows it.
inline const NamedCostModels& first_knowing(bool Capabilities::*known,
                                            std::span<const NamedCostModels> models) {
  const auto found = std::ranges::find_if(
      models, [&](const NamedCostModels& one) { return capabilities(one.models).*known; });
  return found == models.end() ? models.front() : *found;
}

}  // namespace neuroshard::apps
