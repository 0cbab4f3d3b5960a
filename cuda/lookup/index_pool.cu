#include <cub/device/device_scan.cuh>
#include <string>
#include <utility>
#include <vector>

#include "cuda/check.h"
#include "cuda/launch.h"
#include "cuda/lookup/index_pool.h"
#include "cuda/training/stream_kernels.cuh"

namespace neuroshard::cuda {
namespace {

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + kStreamThreads - 1) / kStreamThreads);
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
  NEUROSHARD_RETURN_IF_ERROR(launch({blocks_for(stream.lookups), kStreamThreads}, expand_kernel,
                                    device_starts.data(), counts.size(), stream.lookups, row_of,
                                    place_of, stream.indices.data()));
  return Result<DeviceStream>(std::move(stream));
}

Result<DeviceStream> restrict_rows(const DeviceStream& stream, std::int64_t bags,
                                   std::int64_t row_begin, std::int64_t row_end) {
  const RowRange range{static_cast<std::int32_t>(row_begin), static_cast<std::int32_t>(row_end)};
  const auto places = static_cast<std::size_t>(bags + 1);
  DeviceStream part;
  Buffer<std::int64_t> counts;
  NEUROSHARD_RETURN_IF_ERROR(counts.reserve(places));
  NEUROSHARD_RETURN_IF_ERROR(part.offsets.reserve(places));
  NEUROSHARD_RETURN_IF_ERROR(launch({blocks_for(bags + 1), kStreamThreads}, count_in_range_kernel,
                                    stream.indices.data(), stream.offsets.data(), bags, range,
                                    counts.data()));
  std::size_t bytes = 0;
  Buffer<std::byte> work;
  NEUROSHARD_CUDA_RETURN_IF_ERROR(
      cub::DeviceScan::ExclusiveSum(nullptr, bytes, counts.data(), part.offsets.data(), bags + 1));
  NEUROSHARD_RETURN_IF_ERROR(work.reserve(bytes));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cub::DeviceScan::ExclusiveSum(work.data(), bytes, counts.data(),
                                                                part.offsets.data(), bags + 1));
  NEUROSHARD_RETURN_IF_ERROR(
      download(&part.lookups, part.offsets.data() + bags, sizeof part.lookups));
  NEUROSHARD_RETURN_IF_ERROR(part.indices.reserve(static_cast<std::size_t>(part.lookups)));
  NEUROSHARD_RETURN_IF_ERROR(launch({blocks_for(bags), kStreamThreads}, keep_range_kernel,
                                    stream.indices.data(), stream.offsets.data(), bags, range,
                                    part.offsets.data(), part.indices.data()));
  return Result<DeviceStream>(std::move(part));
}

}  // namespace neuroshard::cuda
