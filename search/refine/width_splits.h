#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/local/shape_catalog.h"

namespace neuroshard::search {

/// A table with more columns than narrow pieces have.
struct WideTable {
  EntryId whole = kNoEntry;
  std::vector<EntryId> narrow;  ///< the same in such pieces
  double wide_ms = 0;           ///< of the whole
  double narrow_ms = 0;         ///< of the pieces
};

/// The first `wide` of some tables stay so, on devices of their own.
struct WidthSplit {
  std::size_t wide = 0;
  std::int32_t devices = 0;
};

/// How many of `tables`, in their order, may stay wide, and on how many of the devices: as many as
/// make the mean device fastest, on about as many devices as they take; then `most` other numbers
/// of devices, the nearest first, each with as many tables as make the slowest device fastest.
/// `narrow_ms`: of all tables that are never wide. REQUIRES a device.
std::vector<WidthSplit> width_splits(std::span<const WideTable> tables, double narrow_ms,
                                     std::int32_t devices, std::size_t most);

}  // namespace neuroshard::search
