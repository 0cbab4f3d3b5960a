#include "engine/ground_truth/cpu/index_stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/core/rng.h"
#include "engine/core/scatter.h"
#include "engine/ground_truth/cpu/row_counts.h"

namespace neuroshard {
namespace {

__extension__ using Wide = unsigned __int128;

/// Uniform in [0, bound) by one multiplication; its bias is below 2^-32 here.
std::uint64_t below(Rng& rng, std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<Wide>(rng.next()) * bound) >> 64);
}

/// A seed that follows from what the stream depends on.
std::uint64_t stream_seed(const Table& table, std::int64_t batch_size, std::uint64_t seed) {
  std::uint64_t hash = seed;
  const auto mix = [&](std::uint64_t value) {
    hash = (std::rotl(hash, 23) ^ value) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  };
  mix(static_cast<std::uint64_t>(table.rows));
  mix(std::bit_cast<std::uint64_t>(table.pooling_factor));
  mix(static_cast<std::uint64_t>(batch_size));
  for (const double share : table.reuse_histogram) mix(std::bit_cast<std::uint64_t>(share));
  return hash;
}

/// Adds `missing` lookups (takes them away when negative), one a bag in scattered order, round
/// after round.
void settle(std::vector<std::int64_t>& lengths, std::int64_t missing, std::uint64_t seed) {
  const auto bags = static_cast<std::int64_t>(lengths.size());
  const std::int64_t step = missing < 0 ? -1 : 1;
  const std::int64_t everywhere = missing > 0 ? missing / bags : 0;
  for (std::int64_t& length : lengths) length += everywhere;
  missing -= everywhere * bags;
  const Scatter order(static_cast<std::uint64_t>(bags), seed);
  while (missing != 0) {
    for (std::int64_t i = 0; i < bags && missing != 0; ++i) {
      std::int64_t& length = lengths[order(static_cast<std::uint64_t>(i))];
      if (length + step < 0) continue;
      length += step;
      missing -= step;
    }
  }
}

/// Bag lengths: whole part of the pooling factor, up to half of it more or less, then single
/// lookups until they add up. One lookup a sample stays exactly that.
std::vector<std::int64_t> bag_offsets(double pooling, std::int64_t batch_size, std::int64_t lookups,
                                      const Rng& seeds) {
  Rng rng = seeds.fork(0);
  const auto base = static_cast<std::int64_t>(pooling);
  const std::int64_t spread = base / 2;
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch_size), base);
  std::int64_t given = base * batch_size;
  for (std::int64_t& length : lengths) {
    const auto moved =
        static_cast<std::int64_t>(below(rng, static_cast<std::uint64_t>(2 * spread + 1))) - spread;
    length += moved;
    given += moved;
  }
  settle(lengths, lookups - given, rng.next());
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(lengths.size() + 1);
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

}  // namespace

StreamRecipe make_stream_recipe(const Table& table, std::int64_t batch_size, std::uint64_t seed) {
  const Rng seeds(stream_seed(table, batch_size, seed));
  const std::int64_t lookups = std::llround(table.pooling_factor * static_cast<double>(batch_size));
  return {bag_offsets(table.pooling_factor, batch_size, lookups, seeds),
          row_counts(table.reuse_histogram, lookups, table.rows),
          Scatter(static_cast<std::uint64_t>(table.rows), seeds.fork(1).next()),
          Scatter(static_cast<std::uint64_t>(std::max<std::int64_t>(lookups, 1)),
                  seeds.fork(2).next())};
}

IndexStream make_index_stream(const Table& table, std::int64_t batch_size, std::uint64_t seed) {
  StreamRecipe recipe = make_stream_recipe(table, batch_size, seed);
  IndexStream stream;
  stream.indices.resize(static_cast<std::size_t>(recipe.offsets.back()));
  std::uint64_t rank = 0;
  std::uint64_t number = 0;
  for (const std::int64_t count : recipe.counts) {
    const auto row = static_cast<std::int64_t>(recipe.row_of(rank++));
    for (std::int64_t i = 0; i < count; ++i) stream.indices[recipe.place_of(number++)] = row;
  }
  stream.offsets = std::move(recipe.offsets);
  return stream;
}

IndexStream restrict_rows(const IndexStream& stream, std::int64_t row_begin, std::int64_t row_end) {
  IndexStream part;
  part.offsets.reserve(stream.offsets.size());
  part.offsets.push_back(0);
  for (std::size_t bag = 0; bag + 1 < stream.offsets.size(); ++bag) {
    for (std::int64_t i = stream.offsets[bag]; i < stream.offsets[bag + 1]; ++i) {
      const std::int64_t row = stream.indices[static_cast<std::size_t>(i)];
      if (row >= row_begin && row < row_end) part.indices.push_back(row - row_begin);
    }
    part.offsets.push_back(static_cast<std::int64_t>(part.indices.size()));
  }
  return part;
}

}  // namespace neuroshard
