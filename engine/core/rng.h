#pragma once

#include <bit>
#include <cstdint>

namespace neuroshard {

/// Seeded random numbers, the same on every compiler and machine (the standard library's
/// distributions are not). xoshiro256** seeded by splitmix64 (Blackman & Vigna, public domain).
/// Not thread-safe; give each thread its own, made by `fork`.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  /// 64 uniformly distributed bits. In the header, as searches draw several numbers a plan.
  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  /// Uniform in [0, bound), without modulo bias. REQUIRES bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    std::uint64_t draw = next();
    // Rejects the first 2^64 mod bound values: what is left divides evenly. They are below the
    // bound, so that almost no draw needs that number.
    if (draw < bound) [[unlikely]]
      draw = next_not_below((0 - bound) % bound, draw);
    return draw % bound;
  }
  /// Uniform in [low, high], both ends included. REQUIRES low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// Uniform in [0, 1) with 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Standard normal (Box-Muller, one value a call).
  double normal();
  /// An independent stream number `stream`, a function of this generator's seed alone: drawing from
  /// this generator does not change it, so work split over threads gives the same numbers.
  [[nodiscard]] Rng fork(std::uint64_t stream) const;

 private:
  /// `draw`, or the first after it that is not below `least`.
  std::uint64_t next_not_below(std::uint64_t least, std::uint64_t draw);

  std::uint64_t seed_;
  std::uint64_t state_[4];
};

}  // namespace neuroshard
