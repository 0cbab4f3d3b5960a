#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// The part of SHA-256 that takes the time. Files of a million tables have half a gigabyte, which
// the processor's own instructions hash seven times as fast as scalar code.

namespace neuroshard::io {

using Sha256State = std::array<std::uint32_t, 8>;

inline constexpr std::size_t kSha256Block = 64;  // bytes

/// Adds blocks to the state (FIPS 180-4, 6.2.2).
using Sha256Blocks = void(Sha256State& state, const char* bytes, std::size_t blocks);

/// The reference.
Sha256Blocks sha256_blocks_scalar;

/// With the instructions that x86 has for it; null where the processor has none.
Sha256Blocks* sha256_blocks_x86();

/// The fastest that this processor has.
Sha256Blocks* sha256_blocks();

/// Fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
extern const std::array<std::uint32_t, 64> kSha256Round;

}  // namespace neuroshard::io
