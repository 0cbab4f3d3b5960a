#pragma once

#include <cstdint>

#include "search/problem.h"

namespace neuroshard::search {

/// The row shards that a search may make, as sizes of pieces, and replicas.
struct RowShapes {
  std::int32_t blocks = 0;    ///< even blocks for so many devices; 0: none
  std::int32_t halves = 1;    ///< halves, quarters, .. down to one in so many; 1: none
  std::int32_t host = 0;      ///< even blocks for so many, the devices of one host; 0: none
  std::int32_t replicas = 0;  ///< tables whole on each of so many devices; 0: none

  /// Whether rows may be split at all, for tables that no columns make fit. Blocks for a host come
  /// with blocks for all; replicas hold all rows.
  [[nodiscard]] bool splits_rows() const { return blocks > 1 || halves > 1; }
};

/// What the options allow.
inline RowShapes row_shapes(const SearchOptions& options, std::int32_t devices) {
  RowShapes shapes;
  if (devices < 2) return shapes;
  if (options.replicate) shapes.replicas = devices;
  if (options.row_splits == RowSplits::kOff) return shapes;
  if (devices <= options.row_parts) shapes.blocks = devices;
  if (options.devices_per_host > 1 && options.devices_per_host < devices &&
      devices % options.devices_per_host == 0) {
    shapes.host = options.devices_per_host;
  }
  if (options.row_splits == RowSplits::kAny) shapes.halves = options.row_parts;
  return shapes;
}

}  // namespace neuroshard::search
