#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/reuse_histogram.h"

namespace neuroshard::io {

/// Counts how often each row of a stream is looked up, in bounded memory: a hash table of at most
/// `capacity` entries that says so when more rows come than it can hold. Not thread-safe.
class RowCounter {
 public:
  /// Bytes of an entry: what a memory limit is divided by.
  static constexpr std::int64_t kEntryBytes = 16;

  /// Forgets everything and makes room for `expected` rows, but never more than `capacity` entries
  /// (a power of two, 2 or more). Rows of other parts than `part` of `parts` (a power of two) are
  /// not counted: a stream too wide is counted part by part, and each row is in exactly one.
  void reset(std::int64_t expected, std::int64_t capacity, std::uint64_t part, std::uint64_t parts);

  /// Counts rows, all >= 0. False when the table is too small for them: then the counts are
  /// worthless.
  [[nodiscard]] bool add(std::span<const std::int64_t> rows);

  /// Adds the number of rows of each reuse bin to `bins`.
  void collect(std::array<std::int64_t, kReuseBins>& bins) const;

 private:
  struct Entry {
    std::uint64_t key;    ///< row + 1; 0 = free
    std::uint32_t count;  ///< stays at its largest value, far above the last bin's lower end
  };
  static_assert(sizeof(Entry) == kEntryBytes);

  std::vector<Entry> entries_;
  std::uint64_t mask_ = 0;
  std::uint64_t part_ = 0;
  std::uint64_t parts_ = 1;
  std::int64_t used_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace neuroshard::io
