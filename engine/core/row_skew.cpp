#include "engine/core/row_skew.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/core/hot_rows.h"

namespace neuroshard {
namespace {

/// Expected standard score of the value of that rank, 0 the largest, among `count` normal ones:
/// Blom's plotting position through the logistic curve that is nearest the normal one.
double standard_score(std::int32_t rank, std::int32_t count) {
  const double above = (rank + 0.625) / (count + 0.25);
  return std::log((1 - above) / above) / 1.702;
}

}  // namespace

RowUse row_use(const ReuseHistogram& histogram, double lookups, double distinct) {
  RowUse use;
  const double mean = mean_reuse(histogram);
  if (!(mean > 0) || !(distinct > 0)) return use;
  const double scale = lookups / distinct / mean;
  for (std::size_t bin = 0; bin < use.rows.size(); ++bin) {
    use.rows[bin] = distinct * histogram[bin];
    use.count[bin] = reuse_bin_center(static_cast<int>(bin)) * scale;
  }
  return use;
}

std::vector<double> block_skews(const RowUse& use, std::int32_t blocks) {
  std::vector<double> skews(static_cast<std::size_t>(blocks), 1.0);
  const double share = 1.0 / blocks;
  std::vector<double> hot(skews.size(), 0.0);
  double mean = 0;
  double variance = 0;
  double next = 0;  // block of the next hot row; below `blocks`, as hotter bins have fewer rows
  for (std::size_t bin = use.rows.size(); bin-- > 0;) {
    const double rows = use.rows[bin];
    const double count = use.count[bin];
    if (next + rows > blocks) {
      mean += rows * count * share;
      // Each row falls into a block by chance: a binomial number of them in each.
      variance += rows * count * count * share * (1 - share);
      continue;
    }
    for (double placed = 0; placed < rows;) {
      const double room = std::floor(next) + 1 - next;
      const double part = std::min(room, rows - placed);
      hot[std::min(hot.size() - 1, static_cast<std::size_t>(next))] += part * count;
      placed += part;
      next += part;
    }
  }
  double sum = 0;
  for (std::int32_t rank = 0; rank < blocks; ++rank) {
    double& skew = skews[static_cast<std::size_t>(rank)];
    const double spread = std::sqrt(variance) * standard_score(rank, blocks);
    skew = hot[static_cast<std::size_t>(rank)] + std::max(0.0, mean + spread);
    sum += skew;
  }
  if (!(sum > 0)) return std::vector<double>(skews.size(), 1.0);
  for (double& skew : skews) skew *= blocks / sum;
  return skews;
}

double busiest_shard(const Table& table, const ShardShape& shape, std::int64_t batch_size,
                     std::int32_t devices) {
  const double parts = static_cast<double>(table.rows) / static_cast<double>(shape.rows);
  const auto blocks = static_cast<std::int32_t>(std::min<double>(std::round(parts), devices));
  if (blocks < 2) return 1;
  const double lookups = static_cast<double>(batch_size) * table.pooling_factor;
  if (shape.kernel.hot_rows == 0) {
    const double distinct = distinct_rows(table.reuse_histogram, lookups, table.rows);
    return block_skews(row_use(table.reuse_histogram, lookups, distinct), blocks).front();
  }
  const LookupParts kinds = lookup_parts(table, shape.kernel.hot_rows, batch_size);
  const RowUse cold =
      row_use(kinds.cold, lookups * (1 - kinds.hot_share), kinds.distinct - kinds.hot_distinct);
  return block_skews(cold, blocks).front();
}

}  // namespace neuroshard
