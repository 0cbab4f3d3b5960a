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

std::size_t reuse_bin_of(std::uint32_t count) {
  // Bin k holds counts in (2^(k-1), 2^k].
  const auto bin = static_cast<std::size_t>(std::bit_width(count - 1U));
  return std::min<std::size_t>(bin, kReuseBins - 1);
}

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

bool RowCounter::is_of_part(std::uint64_t hash) const {
  return ((hash >> kPartShift) & (parts_ - 1)) == part_;
}

void RowCounter::hash_ahead(std::span<const std::int64_t> rows, std::uint64_t* hashes) const {
  for (std::size_t k = 0; k < rows.size(); ++k) {
    hashes[k] = hash_of(static_cast<std::uint64_t>(rows[k]));
    __builtin_prefetch(&entries_[hashes[k] & mask_]);
  }
}

bool RowCounter::add(std::span<const std::int64_t> rows) {
  std::uint64_t hashes[kAhead];
  for (std::size_t begin = 0; begin < rows.size(); begin += kAhead) {
    const auto some = rows.subspan(begin, std::min(kAhead, rows.size() - begin));
    hash_ahead(some, hashes);
    for (std::size_t k = 0; k < some.size(); ++k) {
      if (!is_of_part(hashes[k])) continue;
      const std::uint64_t key = static_cast<std::uint64_t>(some[k]) + 1;
      Entry& entry = entries_[slot_of(hashes[k], key)];
      if (entry.key == 0) {
        if (++used_ > most_) return false;
        entry.key = key;
      }
      if (entry.count < std::numeric_limits<std::uint32_t>::max()) ++entry.count;
    }
  }
  return true;
}

void RowCounter::find(std::span<const std::int64_t> rows, std::span<std::uint32_t> counts) const {
  std::uint64_t hashes[kAhead];
  for (std::size_t begin = 0; begin < rows.size(); begin += kAhead) {
    const auto some = rows.subspan(begin, std::min(kAhead, rows.size() - begin));
    hash_ahead(some, hashes);
    for (std::size_t k = 0; k < some.size(); ++k) {
      const std::uint64_t key = static_cast<std::uint64_t>(some[k]) + 1;
      counts[begin + k] =
          is_of_part(hashes[k]) ? entries_[slot_of(hashes[k], key)].count : std::uint32_t{0};
    }
  }
}

void RowCounter::collect(std::array<std::int64_t, kReuseBins>& bins,
                         std::array<std::int64_t, kReuseBins>& lookups) const {
  for (const Entry& entry : entries_) {
    if (entry.count == 0) continue;
    ++bins[reuse_bin_of(entry.count)];
    lookups[reuse_bin_of(entry.count)] += entry.count;
  }
}

void RowCounter::append_repeated(std::vector<CountedRow>& rows) const {
  for (const Entry& entry : entries_) {
    if (entry.count > 1) rows.push_back({static_cast<std::int64_t>(entry.key) - 1, entry.count});
  }
}

}  // namespace neuroshard::io
