#include <algorithm>

#include "cuda/launch.h"
#include "cuda/ranks/column_copies.cuh"
#include "cuda/ranks/column_copies.h"

namespace neuroshard::cuda {
namespace {

/// Of a piece: enough for every multiprocessor, also with few peers.
constexpr std::int64_t kMostBlocks = 1024;

template <int kWords>
Status launch_copies(const ExchangePlan& plan, ColumnWay way, float* packed, float* local,
                     cudaStream_t stream) {
  const std::int64_t row_blocks = (plan.samples + kColumnRows - 1) / kColumnRows;
  for (const ColumnCopies& all : column_copies_of<kWords>(plan)) {
    const dim3 blocks(static_cast<unsigned>(std::min(row_blocks, kMostBlocks)),
                      static_cast<unsigned>(all.count));
    const Grid grid(blocks, dim3(kColumnLanes, kColumnRows), stream);
    NEUROSHARD_RETURN_IF_ERROR(
        way == ColumnWay::kToLocal
            ? launch(grid, column_copies_kernel<kWords, true>, all, packed, local)
            : launch(grid, column_copies_kernel<kWords, false>, all, packed, local));
  }
  return {};
}

}  // namespace

Status copy_columns(const ExchangePlan& plan, ColumnWay way, float* packed, float* local,
                    cudaStream_t stream) {
  const bool fours = std::all_of(plan.peers.begin(), plan.peers.end(),
                                 [](const auto& peer) { return peer.width % 4 == 0; });
  return fours ? launch_copies<4>(plan, way, packed, local, stream)
               : launch_copies<1>(plan, way, packed, local, stream);
}

}  // namespace neuroshard::cuda
