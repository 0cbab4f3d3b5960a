#pragma once

#include <algorithm>
#include <functional>

#include "engine/cost_model/capabilities.h"

namespace neuroshard {

/// Of what a plan is made for, each with cost models, the first whose models do not know what the
/// member says; if all do, the first. REQUIRES one. `models_of`: its CostModels.
template <typename All, typename ModelsOf>
const auto& first_lacking(bool Capabilities::*known, const All& all, const ModelsOf& models_of) {
  const auto found = std::ranges::find_if(
      all, [&](const auto& one) { return !(capabilities(std::invoke(models_of, one)).*known); });
  return found == std::ranges::end(all) ? *std::ranges::begin(all) : *found;
}

/// The same of the first whose models know it.
template <typename All, typename ModelsOf>
const auto& first_knowing(bool Capabilities::*known, const All& all, const ModelsOf& models_of) {
  const auto found = std::ranges::find_if(
      all, [&](const auto& one) { return capabilities(std::invoke(models_of, one)).*known; });
  return found == std::ranges::end(all) ? *std::ranges::begin(all) : *found;
}

/// The one whose models know the fewest row splits, the first of equals. REQUIRES one.
template <typename All, typename ModelsOf>
const auto& with_fewest_row_splits(const All& all, const ModelsOf& models_of) {
  return *std::ranges::min_element(all, {}, [&](const auto& one) {
    return capabilities(std::invoke(models_of, one)).row_splits;
  });
}

}  // namespace neuroshard
