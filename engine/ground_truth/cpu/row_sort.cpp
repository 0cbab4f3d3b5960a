#include "engine/ground_truth/cpu/row_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace neuroshard {
namespace {

constexpr std::int64_t kBagsPerChunk = 4096;
constexpr std::int64_t kLookupsPerBucket = 4096;  // 32 KiB of pairs: sorted inside the L1/L2 cache
constexpr int kMaxBucketBits = 10;                // write streams a scatter pass keeps open
constexpr int kDigitBits = 8;

int bits_for(std::int64_t count) {
  return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1)) - 1);
}

}  // namespace

/// How the lookups of one shard are cut into chunks of bags and buckets of rows.
struct RowSort::Layout {
  const IndexStream* stream;
  std::int32_t shard;
  int low_bits;  ///< row >> low_bits is the bucket
  std::int64_t buckets;
  std::int64_t chunks;
  std::int64_t first_count;  ///< of chunks x buckets counters
  std::int64_t first_pair;

  [[nodiscard]] std::int64_t counter(std::int64_t chunk) const {
    return first_count + chunk * buckets;
  }
  /// Calls body(bag, row) for the lookups of a chunk, in order.
  template <typename Body>
  void for_each(std::int64_t chunk, const Body& body) const {
    const std::int64_t end = std::min((chunk + 1) * kBagsPerChunk, stream->bags());
    for (std::int64_t bag = chunk * kBagsPerChunk; bag < end; ++bag) {
      const auto at = static_cast<std::size_t>(bag);
      for (std::int64_t i = stream->offsets[at]; i < stream->offsets[at + 1]; ++i) {
        body(bag, stream->indices[static_cast<std::size_t>(i)]);
      }
    }
  }
};

struct RowSort::Chunk {
  std::size_t layout;
  std::int64_t number;
};

struct RowSort::Work {
  std::vector<Layout> layouts;
  std::vector<Chunk> chunks;
};

bool RowSort::packs(std::int64_t rows, std::int64_t bags) {
  return bits_for(rows) + bits_for(bags) <= 64;
}

void RowSort::sort(const std::vector<Input>& inputs, ThreadPool& pool) {
  const Work work = lay_out(inputs);
  count(work, pool);
  place(work);
  deal(work, pool);
  pool.parallel_for(static_cast<std::int64_t>(buckets_.size()), [&](std::int64_t bucket, int) {
    const auto at = static_cast<std::size_t>(bucket);
    sort_bucket(buckets_[at], bucket_bits_[at]);
  });
}

RowSort::Work RowSort::lay_out(const std::vector<Input>& inputs) {
  Work work;
  std::int64_t pairs = 0;
  std::int64_t counts = 0;
  bag_bits_ = inputs.empty() ? 0 : bits_for(inputs.front().stream->bags());
  for (std::size_t shard = 0; shard < inputs.size(); ++shard) {
    const IndexStream& stream = *inputs[shard].stream;
    if (stream.lookups() == 0) continue;
    const int row_bits = bits_for(inputs[shard].rows);
    const int bucket_bits =
        std::min({row_bits, kMaxBucketBits, bits_for(stream.lookups() / kLookupsPerBucket + 1)});
    const Layout layout{&stream,
                        static_cast<std::int32_t>(shard),
                        row_bits - bucket_bits,
                        std::int64_t{1} << bucket_bits,
                        (stream.bags() + kBagsPerChunk - 1) / kBagsPerChunk,
                        counts,
                        pairs};
    for (std::int64_t chunk = 0; chunk < layout.chunks; ++chunk) {
      work.chunks.push_back({work.layouts.size(), chunk});
    }
    counts += layout.chunks * layout.buckets;
    pairs += stream.lookups();
    work.layouts.push_back(layout);
  }
  // Grown, never shrunk or cleared: every pair is written before it is read.
  if (static_cast<std::size_t>(pairs) > pairs_.size()) {
    pairs_.resize(static_cast<std::size_t>(pairs));
    spare_.resize(static_cast<std::size_t>(pairs));
  }
  counts_.assign(static_cast<std::size_t>(counts), 0);
  return work;
}

/// counts_: lookups of each chunk in each bucket.
void RowSort::count(const Work& work, ThreadPool& pool) {
  pool.parallel_for(static_cast<std::int64_t>(work.chunks.size()), [&](std::int64_t piece, int) {
    const Chunk& chunk = work.chunks[static_cast<std::size_t>(piece)];
    const Layout& layout = work.layouts[chunk.layout];
    std::int64_t* counts = counts_.data() + layout.counter(chunk.number);
    layout.for_each(chunk.number,
                    [&](std::int64_t, std::int64_t row) { ++counts[row >> layout.low_bits]; });
  });
}

/// Counts become places in pairs_: bucket by bucket, inside a bucket chunk by chunk, which keeps
/// the order of the bags.
void RowSort::place(const Work& work) {
  buckets_.clear();
  bucket_bits_.clear();
  for (const Layout& layout : work.layouts) {
    std::int64_t place = layout.first_pair;
    for (std::int64_t bucket = 0; bucket < layout.buckets; ++bucket) {
      const std::int64_t begin = place;
      for (std::int64_t chunk = 0; chunk < layout.chunks; ++chunk) {
        place +=
            std::exchange(counts_[static_cast<std::size_t>(layout.counter(chunk) + bucket)], place);
      }
      if (place == begin) continue;
      buckets_.push_back({layout.shard, begin, place});
      bucket_bits_.push_back(layout.low_bits);
    }
  }
}

/// Writes every lookup to its place.
void RowSort::deal(const Work& work, ThreadPool& pool) {
  pool.parallel_for(static_cast<std::int64_t>(work.chunks.size()), [&](std::int64_t piece, int) {
    const Chunk& chunk = work.chunks[static_cast<std::size_t>(piece)];
    const Layout& layout = work.layouts[chunk.layout];
    std::int64_t* places = counts_.data() + layout.counter(chunk.number);
    layout.for_each(chunk.number, [&](std::int64_t bag, std::int64_t row) {
      pairs_[static_cast<std::size_t>(places[row >> layout.low_bits]++)] =
          static_cast<std::uint64_t>(row) << bag_bits_ | static_cast<std::uint64_t>(bag);
    });
  });
}

void RowSort::sort_bucket(const Bucket& bucket, int low_bits) {
  std::uint64_t* from = pairs_.data() + bucket.begin;
  const std::int64_t count = bucket.end - bucket.begin;
  if (count <= 64) {
    std::sort(from, from + count);  // (row, bag) in one word; bags already ascend
    return;
  }
  std::uint64_t* to = spare_.data() + bucket.begin;
  for (int done = 0; done < low_bits; done += kDigitBits) {
    const int shift = bag_bits_ + done;
    const std::uint64_t mask = (std::uint64_t{1} << std::min(kDigitBits, low_bits - done)) - 1;
    std::array<std::uint32_t, std::size_t{1} << kDigitBits> places{};
    for (std::int64_t i = 0; i < count; ++i) ++places[from[i] >> shift & mask];
    std::uint32_t place = 0;
    for (std::uint32_t& each : places) place += std::exchange(each, place);
    for (std::int64_t i = 0; i < count; ++i) to[places[from[i] >> shift & mask]++] = from[i];
    std::swap(from, to);
  }
  if (from != pairs_.data() + bucket.begin) std::copy(from, from + count, to);
}

}  // namespace neuroshard
