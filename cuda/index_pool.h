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

/// The same from indices that exist. Errors as above; REQUIRES indices inside the table.
Result<DeviceStream> upload_stream(std::span<const std::int64_t> offsets,
                                   std::span<const std::int64_t> indices);

}  // namespace neuroshard::cuda
