#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/reuse_histogram.h"

namespace neuroshard::io {

/// A row, and how often a batch looks it up.
struct CountedRow {
  std::int64_t row = 0;
  std::int64_t lookups = 0;
};

/// The reuse bin of rows that are looked up that often. REQUIRES count >= 1.
std::size_t reuse_bin_of(std::uint32_t count);

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

  /// How often each of these rows was counted; 0 for rows of other parts. REQUIRES as many counts.
  void find(std::span<const std::int64_t> rows, std::span<std::uint32_t> counts) const;

  /// Adds the number of rows of each reuse bin to `bins`, and their lookups to `lookups`.
  void collect(std::array<std::int64_t, kReuseBins>& bins,
               std::array<std::int64_t, kReuseBins>& lookups) const;

  /// Appends the rows that were counted twice or more often, in no order.
  void append_repeated(std::vector<CountedRow>& rows) const;

 private:
  struct Entry {
    std::uint64_t key;    ///< row + 1; 0 = free
    std::uint32_t count;  ///< stays at its largest value, far above the last bin's lower end
  };
  static_assert(sizeof(Entry) == kEntryBytes);

  /// The entry of that key, or the free one where it belongs.
  [[nodiscard]] std::size_t slot_of(std::uint64_t hash, std::uint64_t key) const {
    std::uint64_t slot = hash & mask_;
    while (entries_[slot].key != key && entries_[slot].key != 0) slot = (slot + 1) & mask_;
    return slot;
  }
  [[nodiscard]] bool is_of_part(std::uint64_t hash) const;
  /// Hashes of up to kAhead rows, whose entries are fetched meanwhile.
  void hash_ahead(std::span<const std::int64_t> rows, std::uint64_t* hashes) const;

  std::vector<Entry> entries_;
  std::uint64_t mask_ = 0;
  std::uint64_t part_ = 0;
  std::uint64_t parts_ = 1;
  std::int64_t used_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace neuroshard::io
