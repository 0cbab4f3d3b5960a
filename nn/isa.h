#pragma once

#include <span>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard::nn {

/// Instruction sets the networks' kernels exist for. kScalar is the reference. kAvx512: foundation,
/// VL, DQ and BW; prediction has kernels of its own for it, all else uses AVX2's. kNeon: what every
/// 64-bit Arm has; prediction has kernels for it, all else is scalar.
enum class Isa { kScalar, kAvx2, kAvx512, kNeon };

struct IsaInfo {
  Isa isa;
  std::string_view name;  ///< as in NEUROSHARD_BACKEND
  bool (*supported)();    ///< by this processor
};

/// The explicit list, best first: the first supported one is taken.
std::span<const IsaInfo> isa_list();

/// The instruction set to use: NEUROSHARD_BACKEND when set ("scalar", "avx2", "avx512", "neon"),
/// else the first of isa_list() that this processor has. An unknown name, or one this processor
/// lacks, is an error that lists the known ones. Reads the environment on each call; thread-safe.
Result<Isa> select_isa();

std::string_view to_string(Isa isa);

}  // namespace neuroshard::nn
