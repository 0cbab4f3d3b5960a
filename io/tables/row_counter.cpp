#include "io/tables/row_counter.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace neuroshard::io {
namespace {

/// Rows hashed ahead of their entries, whose cache lines are fetched meanwhile.
constexpr std::size_t kAhead = 64;
constexpr int kPartShift = 40;  // hash bits that choose the part; the low ones choose the entry

/// The finalizer of splitmix64: every bit of the row reaches every bit of the hash.
std::uint64_t hash_of(std::uint64_t row) {
  row = (row ^ (row >> 30)) * 0xbf58476d1ce4e5b9ULL;
  row = (row ^ (row >> 27)) * 0x94d049bb133111ebULL;
  return row ^ (row >> 31);
}

}  // namespace

void RowCounter::reset(std::int64_t expected, std::int64_t capacity, std::uint64_t part,
                       std::uint64_t parts) {
  const std::int64_t wanted = std::min(capacity, 2 * std::max<std::int64_t>(expected, 1));
  const std::uint64_t size = std::bit_ceil(static_cast<std::uint64_t>(wanted));
  entries_.assign(size, Entry{0, 0});
  mask_ = size - 1;
  part_ = part;
  parts_ = parts;
  used_ = 0;
  most_ = static_cast<std::int64_t>(size - size / 4);  // fuller tables probe for long
}

bool RowCounter::add(std::span<const std::int64_t> rows) {
  std::uint64_t hashes[kAhead];
  for (std::size_t begin = 0; begin < rows.size(); begin += kAhead) {
    const std::size_t count = std::min(kAhead, rows.size() - begin);
    for (std::size_t k = 0; k < count; ++k) {
      hashes[k] = hash_of(static_cast<std::uint64_t>(rows[begin + k]));
      __builtin_prefetch(&entries_[hashes[k] & mask_]);
    }
    for (std::size_t k = 0; k < count; ++k) {
      if (((hashes[k] >> kPartShift) & (parts_ - 1)) != part_) continue;
      const std::uint64_t key = static_cast<std::uint64_t>(rows[begin + k]) + 1;
      std::uint64_t slot = hashes[k] & mask_;
      while (entries_[slot].key != key && entries_[slot].key != 0) slot = (slot + 1) & mask_;
      Entry& entry = entries_[slot];
      if (entry.key == 0) {
        if (++used_ > most_) return false;
        entry.key = key;
      }
      if (entry.count < std::numeric_limits<std::uint32_t>::max()) ++entry.count;
    }
  }
  return true;
}

void RowCounter::collect(std::array<std::int64_t, kReuseBins>& bins) const {
  for (const Entry& entry : entries_) {
    if (entry.count == 0) continue;
    // Bin k holds counts in (2^(k-1), 2^k].
    const int bin = std::bit_width(entry.count - 1U);
    ++bins[static_cast<std::size_t>(std::min(bin, kReuseBins - 1))];
  }
}

}  // namespace neuroshard::io
