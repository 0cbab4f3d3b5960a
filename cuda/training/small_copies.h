#pragma once

#include <cstddef>
#include <cstdint>

namespace neuroshard::cuda {

inline constexpr int kMostCopies = 8;

/// Copies of whole words that do not overlap.
struct SmallCopies {
  struct Copy {
    std::uint32_t* to;
    const std::uint32_t* from;
    std::uint32_t words;
  };
  Copy copies[kMostCopies];
  int count;

  /// Whether one of them writes into these bytes.
  [[nodiscard]] bool write(const void* to, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(to);
    for (int k = 0; k < count; ++k) {
      const auto other = reinterpret_cast<std::uintptr_t>(copies[k].to);
      if (begin < other + copies[k].words * 4ULL && other < begin + bytes) return true;
    }
    return false;
  }
};

}  // namespace neuroshard::cuda
