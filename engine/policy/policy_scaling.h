#pragma once

#include <cstdint>
#include <span>

#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/features.h"

namespace neuroshard {

/// Mean and deviation of each feature over these tables, whole and with half and a quarter of their
/// columns, for all tasks alike. Features that are the same everywhere get such a deviation that
/// they hardly count elsewhere.
Scaling policy_scaling(const FeatureSet& features, const Workload& pool,
                       std::span<const std::int32_t> ids);

}  // namespace neuroshard
