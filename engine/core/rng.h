#pragma once

#include <cstdint>

namespace neuroshard {

/// Seeded random numbers, the same on every compiler and machine (the standard library's
/// distributions are not). xoshiro256** seeded by splitmix64 (Blackman & Vigna, public domain).
/// Not thread-safe; give each thread its own, made by `fork`.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  /// 64 uniformly distributed bits.
  std::uint64_t next();
  /// Uniform in [0, bound), without modulo bias. REQUIRES bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [low, high], both ends included. REQUIRES low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// Uniform in [0, 1) with 53 bits.
  double uniform();
  /// Standard normal (Box-Muller, one value a call).
  double normal();
  /// An independent stream number `stream`, a function of this generator's seed alone: drawing from
  /// this generator does not change it, so work split over threads gives the same numbers.
  [[nodiscard]] Rng fork(std::uint64_t stream) const;

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

}  // namespace neuroshard
