#pragma once

namespace neuroshard::bench {

/// Networks' sums depend on the instruction set, and searches on their last bits: the same one,
/// AVX2, wherever there is one, unless NEUROSHARD_BACKEND names another.
void use_one_instruction_set();

}  // namespace neuroshard::bench
