#pragma once

#include <cstdint>
#include <span>

#include "cuda/memory.h"
#include "engine/core/scatter.h"
#include "engine/core/status.h"

namespace neuroshard::cuda {

/// The lookups of one batch into one table, in device memory: bag b reads rows
/// indices[offsets[b]..offsets[b + 1]).
struct DeviceStream {
  Buffer<std::int32_t> indices;
  Buffer<std::int64_t> offsets;
  std::int64_t lookups = 0;
};

/// Makes lookups on the GPU: distinct row r, the row row_of(r), occurs counts[r] times; lookup
/// number i, counted distinct row after distinct row, goes to place place_of(i).
/// Errors: kInvalidInput for 2^31 rows or lookups and more; memory.
Result<DeviceStream> make_device_stream(std::span<const std::int64_t> offsets,
                                        std::span<const std::int64_t> counts, const Scatter& row_of,
                                        const Scatter& place_of);

/// The lookups of `stream`, of so many bags, that hit rows [row_begin, row_end), renumbered from 0.
/// Waits for them. Errors: memory, and those of earlier work. REQUIRES a range inside the table.
Result<DeviceStream> restrict_rows(const DeviceStream& stream, std::int64_t bags,
                                   std::int64_t row_begin, std::int64_t row_end);

}  // namespace neuroshard::cuda
