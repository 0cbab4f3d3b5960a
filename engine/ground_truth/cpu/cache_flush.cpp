#include "engine/ground_truth/cpu/cache_flush.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>

#include "engine/core/bytes.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kUnknownCacheBytes = std::int64_t{64} << 20;
constexpr std::int64_t kLargestBuffer = std::int64_t{2} << 30;
constexpr std::int64_t kPiece = std::int64_t{1} << 17;  // words
constexpr std::int64_t kWordsPerLine = 8;               // writing one of them takes the whole line

/// Touches each cache line of the words from `begin` to `end`. Sanitizers have nothing to find in
/// it, and their own record of a gigabyte takes most of the time of a test that measures.
__attribute__((noinline, no_sanitize("address", "thread"))) void write_lines(std::uint64_t* words,
                                                                             std::int64_t begin,
                                                                             std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += kWordsPerLine)
    words[i] = static_cast<std::uint64_t>(i);
}

}  // namespace

std::int64_t last_level_cache_bytes() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::string text;  // "32768K"
    if (!(file >> text) || text.empty()) continue;
    if (text.back() == 'K' || text.back() == 'M') text += "iB";
    const Result<std::int64_t> bytes = parse_bytes(text);
    if (bytes.ok()) largest = std::max(largest, *bytes);
  }
  return largest > 0 ? largest : kUnknownCacheBytes;
}

CacheFlush::CacheFlush()
    : words_(std::min(2 * last_level_cache_bytes(), kLargestBuffer) / 8),
      buffer_(std::make_unique_for_overwrite<std::uint64_t[]>(static_cast<std::size_t>(words_))) {}

void CacheFlush::flush(ThreadPool& pool) {
  pool.parallel_for((words_ + kPiece - 1) / kPiece, [&](std::int64_t piece, int) {
    write_lines(buffer_.get(), piece * kPiece, std::min((piece + 1) * kPiece, words_));
  });
}

}  // namespace neuroshard
