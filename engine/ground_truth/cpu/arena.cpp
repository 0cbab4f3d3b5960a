#include "engine/ground_truth/cpu/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "engine/core/bytes.h"
#include "engine/ground_truth/cpu/host_memory.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kFillPiece = std::int64_t{1} << 20;

/// Uniform in [-0.01, 0.01), a function of the position alone.
float small_value(std::int64_t position) {
  std::uint64_t hash = static_cast<std::uint64_t>(position) * 0x9e3779b97f4a7c15ULL;
  hash ^= hash >> 32;
  hash *= 0xbf58476d1ce4e5b9ULL;
  return (static_cast<float>(hash >> 40) * 0x1p-24F - 0.5F) * 0.02F;
}

}  // namespace

void Arena::Unmap::operator()(float* data) const { munmap(data, bytes); }

Result<Arena> Arena::reserve(std::int64_t floats) {
  const std::size_t bytes =
      static_cast<std::size_t>(std::max<std::int64_t>(floats, 1)) * sizeof(float);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return internal_error("cannot reserve " + format_bytes(static_cast<std::int64_t>(bytes)) +
                          " of memory for weights: " + std::strerror(errno));
  }
  madvise(data, bytes, MADV_HUGEPAGE);  // a hint: small pages work too
  return Arena({static_cast<float*>(data), Unmap{bytes}}, floats);
}

Result<float*> Arena::take(std::int64_t floats, const char* what, ThreadPool& pool, bool zero) {
  if (floats > filled_) {
    const std::int64_t begin = filled_;
    constexpr std::int64_t kSize = sizeof(float);
    NEUROSHARD_RETURN_IF_ERROR(check_available((floats - begin) * kSize, what));
    const std::int64_t pieces = (floats - begin + kFillPiece - 1) / kFillPiece;
    pool.parallel_for(pieces, [&](std::int64_t piece, int) {
      const std::int64_t from = begin + piece * kFillPiece;
      const std::int64_t to = std::min(from + kFillPiece, floats);
      float* const data = data_.get();
      for (std::int64_t i = from; i < to; ++i) data[i] = zero ? 0.0F : small_value(i);
    });
    filled_ = floats;
  }
  return data_.get();
}

}  // namespace neuroshard
