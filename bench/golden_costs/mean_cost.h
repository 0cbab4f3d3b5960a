#pragma once

#include <cstdint>

#include "bench/golden_costs/settings.h"

namespace neuroshard::bench {

/// What the plans of a setting's first tasks cost in the mean, milliseconds, found on one thread
/// with the setting's evaluations and no time limit. Errors: those of the engine; a task without a
/// plan is one.
Result<double> mean_cost(const GoldenSetting& setting, const GoldenInputs& inputs);

/// Networks' sums depend on the instruction set, and searches on their last bits: the same one,
/// AVX2, wherever there is one, unless NEUROSHARD_BACKEND names another.
void use_one_instruction_set();

}  // namespace neuroshard::bench
