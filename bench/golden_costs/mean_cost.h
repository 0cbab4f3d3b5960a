#pragma once

#include <cstdint>

#include "bench/golden_costs/settings.h"

namespace neuroshard::bench {

/// What the plans of a setting's first tasks cost in the mean, milliseconds, found on one thread
/// with the setting's evaluations and no time limit. Errors: those of the engine; a task without a
/// plan is one.
Result<double> mean_cost(const GoldenSetting& setting, const GoldenInputs& inputs);

}  // namespace neuroshard::bench
