#include "io/tables/bag_coverage.h"

#include <algorithm>
#include <cstddef>

#include "io/tables/index_layout.h"

namespace neuroshard::io {
namespace {

void lower(std::atomic<std::uint8_t>& least, std::uint8_t bin) {
  std::uint8_t now = least.load(std::memory_order_relaxed);
  while (bin < now && !least.compare_exchange_weak(now, bin, std::memory_order_relaxed)) {
  }
}

/// What one pass reads at once.
struct Pieces {
  std::vector<std::int64_t> ends;  ///< of bags
  std::vector<std::int64_t> rows;
  std::vector<std::uint32_t> counts;
  std::vector<std::int32_t> scratch;
};

}  // namespace

BagCoverage::BagCoverage(std::int64_t bags) : least_(static_cast<std::size_t>(bags)) {
  for (auto& least : least_) least.store(kReuseBins - 1, std::memory_order_relaxed);
}

Status BagCoverage::add(const NpyFile& indices, const NpyFile& offsets, std::int64_t first_bag,
                        const RowCounter& counter, const CancelToken* cancel) {
  Pieces pieces;
  pieces.ends.resize(1);
  NEUROSHARD_RETURN_IF_ERROR(offsets.read(first_bag, pieces.ends, pieces.scratch));
  std::int64_t place = pieces.ends.front();
  const auto bags = static_cast<std::int64_t>(least_.size());
  for (std::int64_t known = 0; known < bags; known += kItemsAtOnce) {
    pieces.ends.resize(static_cast<std::size_t>(std::min(kItemsAtOnce, bags - known)));
    NEUROSHARD_RETURN_IF_ERROR(offsets.read(first_bag + known + 1, pieces.ends, pieces.scratch));
    for (std::size_t bag = 0; place < pieces.ends.back();) {
      if (cancel != nullptr && cancel->cancelled()) {
        return cancelled("counting lookups was interrupted");
      }
      const auto size =
          static_cast<std::size_t>(std::min(kItemsAtOnce, pieces.ends.back() - place));
      pieces.rows.resize(size);
      pieces.counts.resize(size);
      NEUROSHARD_RETURN_IF_ERROR(indices.read(place, pieces.rows, pieces.scratch));
      counter.find(pieces.rows, pieces.counts);
      for (const std::uint32_t count : pieces.counts) {
        while (place >= pieces.ends[bag]) ++bag;
        ++place;
        if (count == 0) continue;
        lower(least_[static_cast<std::size_t>(known) + bag],
              static_cast<std::uint8_t>(reuse_bin_of(count)));
      }
    }
  }
  return {};
}

std::array<std::int64_t, kReuseBins> BagCoverage::bins() const {
  std::array<std::int64_t, kReuseBins> bins{};
  for (const auto& least : least_) ++bins[least.load(std::memory_order_relaxed)];
  return bins;
}

}  // namespace neuroshard::io
