#pragma once

// For CUDA sources only.

#include <cuda_runtime.h>

#include "cuda/ranks/exchange_plan.h"
#include "engine/core/status.h"

namespace neuroshard::cuda {

/// Which way columns go between the packed pieces of the peers and `local`.
enum class ColumnWay { kToLocal, kToPacked };

/// Puts the copies of all peers of an exchange into the stream. Both arrays lie on 16-byte borders;
/// where all widths are multiples of 4 floats, so are the accesses.
Status copy_columns(const ExchangePlan& plan, ColumnWay way, float* packed, float* local,
                    cudaStream_t stream);

}  // namespace neuroshard::cuda
