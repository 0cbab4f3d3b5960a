#pragma once

#include <bit>
#include <cstdint>

namespace neuroshard {

/// A seeded permutation of [0, size) that needs no memory: four Feistel rounds over the next even
/// number of bits, repeated while the result is outside (at most four times on average). A value;
/// const access is thread-safe.
class Scatter {
 public:
  /// REQUIRES 1 <= size <= 2^62.
  Scatter(std::uint64_t size, std::uint64_t seed)
      : size_(size), seed_(seed), half_(static_cast<int>(std::bit_width(size - 1) + 1) / 2) {}

  /// constexpr lets GPU code call it, too.
  constexpr std::uint64_t operator()(std::uint64_t index) const {
    if (size_ < 2) return 0;
    do {
      index = permute(index);
    } while (index >= size_);
    return index;
  }

 private:
  [[nodiscard]] constexpr std::uint64_t permute(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = value >> half_;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 1; round <= 4; ++round) {
      std::uint64_t mixed = (right ^ seed_) * 0x9e3779b97f4a7c15ULL + round * 0xd1b54a32d192ed03ULL;
      mixed = (mixed ^ (mixed >> 32)) * 0xbf58476d1ce4e5b9ULL;
      const std::uint64_t next = left ^ ((mixed >> 31) & mask);
      left = right;
      right = next;
    }
    return (left << half_) | right;
  }

  std::uint64_t size_;
  std::uint64_t seed_;
  int half_;
};

}  // namespace neuroshard
