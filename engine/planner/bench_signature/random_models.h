#pragma once

#include <cstdint>

#include "engine/core/rng.h"
#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard::signature {

inline constexpr std::int64_t kBatchSize = 65536;

/// Networks of the paper's sizes with random weights, for that many devices alone. They know rows
/// in as many parts, or in eight. More shards cost more under them, as real networks have learnt.
Result<CostModels> random_models(std::int32_t devices, Rng& rng);

/// The same with communication networks for any number of devices, on hosts of kUsualHost.
Result<CostModels> random_pooled_models(std::int32_t devices, Rng& rng);

}  // namespace neuroshard::signature
