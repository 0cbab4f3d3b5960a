#include "engine/ground_truth/drawn_row_parts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/core/thread_pool.h"
#include "engine/ground_truth/cpu/index_stream.h"

namespace neuroshard {
namespace {

/// The parts of tables that see the same lookups.
struct SameLookups {
  const Table* table = nullptr;
  std::vector<Table*> parts;  ///< the first rows of such a table each
};

std::vector<SameLookups> group_by_lookups(ShardPool& pool) {
  std::map<std::tuple<std::int64_t, double, ReuseHistogram>, SameLookups> groups;
  for (std::size_t id = pool.whole.size(); id < pool.entries.size(); ++id) {
    const Table& table = pool.whole[id - pool.whole.size()];
    SameLookups& group = groups[{table.rows, table.pooling_factor, table.reuse_histogram}];
    group.table = &table;
    group.parts.push_back(&pool.entries[id]);
  }
  std::vector<SameLookups> list;
  for (auto& [key, group] : groups) {
    std::sort(group.parts.begin(), group.parts.end(),
              [](const Table* a, const Table* b) { return a->rows < b->rows; });
    list.push_back(std::move(group));
  }
  return list;
}

std::size_t bin_of(std::int64_t count) {
  return std::min<std::size_t>(std::bit_width(static_cast<std::uint64_t>(count - 1)),
                               kReuseBins - 1);
}

/// Distinct rows by the bin of their count, and their lookups.
struct Seen {
  std::array<double, kReuseBins> rows{};
  double lookups = 0;

  void add(const Seen& other) {
    for (std::size_t bin = 0; bin < rows.size(); ++bin) rows[bin] += other.rows[bin];
    lookups += other.lookups;
  }
};

void describe(const Seen& seen, std::int64_t batch_size, Table& part) {
  double distinct = 0;
  for (const double rows : seen.rows) distinct += rows;
  part.pooling_factor = seen.lookups / static_cast<double>(batch_size);
  part.reuse_histogram = {};
  for (std::size_t bin = 0; distinct > 0 && bin < seen.rows.size(); ++bin) {
    part.reuse_histogram[bin] = seen.rows[bin] / distinct;
  }
}

void describe_parts(const SameLookups& group, std::int64_t batch_size, std::uint64_t seed) {
  const StreamRecipe recipe = make_stream_recipe(*group.table, batch_size, seed);
  std::vector<Seen> between(group.parts.size());  // rows of a part that no smaller one has
  std::uint64_t rank = 0;
  for (const std::int64_t count : recipe.counts) {
    const auto row = static_cast<std::int64_t>(recipe.row_of(rank++));
    const auto part = std::upper_bound(
        group.parts.begin(), group.parts.end(), row,
        [](std::int64_t wanted, const Table* each) { return wanted < each->rows; });
    if (part == group.parts.end()) continue;
    Seen& seen = between[static_cast<std::size_t>(part - group.parts.begin())];
    seen.rows[bin_of(count)] += 1;
    seen.lookups += static_cast<double>(count);
  }
  Seen seen;
  for (std::size_t k = 0; k < group.parts.size(); ++k) {
    seen.add(between[k]);
    describe(seen, batch_size, *group.parts[k]);
  }
}

}  // namespace

void describe_drawn_row_parts(ShardPool& pool, std::int64_t batch_size, std::uint64_t seed) {
  const std::vector<SameLookups> groups = group_by_lookups(pool);
  ThreadPool threads(0);
  threads.parallel_for(std::ssize(groups), [&](std::int64_t k, int) {
    describe_parts(groups[static_cast<std::size_t>(k)], batch_size, seed);
  });
}

}  // namespace neuroshard
