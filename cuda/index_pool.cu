#include <string>
#include <utility>
#include <vector>

#include "cuda/check.h"
#include "cuda/index_pool.h"

namespace neuroshard::cuda {
namespace {

constexpr int kThreads = 256;

/// One thread per lookup: `starts` [distinct + 1] says which distinct row it is of.
__global__ void expand_kernel(const std::uint32_t* __restrict__ starts, std::int64_t distinct,
                              std::int64_t lookups, Scatter row_of, Scatter place_of,
                              std::int32_t* __restrict__ indices) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= lookups) return;
  std::int64_t low = 0;  // the last distinct row that starts at or before i
  std::int64_t high = distinct - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (starts[middle] <= i) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  indices[place_of(static_cast<std::uint64_t>(i))] =
      static_cast<std::int32_t>(row_of(static_cast<std::uint64_t>(low)));
}

Status check_count(std::int64_t lookups) {
  if (lookups <= INT32_MAX) return {};
  return invalid_input("a batch of " + std::to_string(lookups) +
                       " lookups of one table, expected below 2^31");
}

}  // namespace

Result<DeviceStream> make_device_stream(std::span<const std::int64_t> offsets,
                                        std::span<const std::int64_t> counts, const Scatter& row_of,
                                        const Scatter& place_of) {
  DeviceStream stream;
  stream.lookups = offsets.back();
  NEUROSHARD_RETURN_IF_ERROR(check_count(stream.lookups));
  NEUROSHARD_RETURN_IF_ERROR(stream.offsets.assign(offsets));
  if (stream.lookups == 0) return Result<DeviceStream>(std::move(stream));
  std::vector<std::uint32_t> starts;
  starts.reserve(counts.size());
  std::int64_t start = 0;
  for (const std::int64_t count : counts) {
    starts.push_back(static_cast<std::uint32_t>(start));
    start += count;
  }
  Buffer<std::uint32_t> device_starts;
  NEUROSHARD_RETURN_IF_ERROR(device_starts.assign(starts));
  NEUROSHARD_RETURN_IF_ERROR(stream.indices.reserve(static_cast<std::size_t>(stream.lookups)));
  const auto blocks = static_cast<unsigned>((stream.lookups + kThreads - 1) / kThreads);
  expand_kernel<<<blocks, kThreads>>>(device_starts.data(),
                                      static_cast<std::int64_t>(counts.size()), stream.lookups,
                                      row_of, place_of, stream.indices.data());
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaGetLastError());
  return Result<DeviceStream>(std::move(stream));
}

Result<DeviceStream> upload_stream(std::span<const std::int64_t> offsets,
                                   std::span<const std::int64_t> indices) {
  DeviceStream stream;
  stream.lookups = static_cast<std::int64_t>(indices.size());
  NEUROSHARD_RETURN_IF_ERROR(check_count(stream.lookups));
  const std::vector<std::int32_t> narrow(indices.begin(), indices.end());
  NEUROSHARD_RETURN_IF_ERROR(stream.offsets.assign(offsets));
  NEUROSHARD_RETURN_IF_ERROR(stream.indices.assign(narrow));
  return Result<DeviceStream>(std::move(stream));
}

}  // namespace neuroshard::cuda
