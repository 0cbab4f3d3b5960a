#include "engine/cost_model/pooled_lookup.h"

#include <algorithm>
#include <cmath>

#include "engine/core/hot_rows.h"
#include "engine/core/row_skew.h"

namespace neuroshard {

PooledLookup as_pooled(const Table& table, const ShardShape& shape, std::int64_t batch_size,
                       std::int32_t devices) {
  PooledLookup own{table, batch_size};
  own.table.pooled = true;
  own.table.features = 1;
  const auto batch = static_cast<double>(batch_size);
  double lookups = batch * table.pooling_factor;
  // A part of the rows is asked for the outputs of its own lookups only, where each has one. Which
  // part has the hottest rows is not known: each is taken for the busiest, as one of them is.
  if (!table.pooled && !shape.replicated) {
    lookups *= busiest_shard(table, shape, batch_size, devices);
  }
  double rows = static_cast<double>(shape.rows) / static_cast<double>(table.rows);
  double bags = batch * table.features;
  if (shape.kernel.hot_rows > 0) {
    const LookupParts parts = lookup_parts(table, shape.kernel.hot_rows, batch_size);
    own.table.reuse_histogram = shape.replicated ? parts.hot : parts.cold;
    lookups *= shape.replicated ? parts.hot_share : 1 - parts.hot_share;
    if (shape.replicated) {
      own.table.rows = shape.rows;
      rows = 1;
    } else {
      bags *= parts.cold_bags;
    }
  }
  if (shape.replicated) {
    own.table.reuse_histogram =
        thinned_reuse(own.table.reuse_histogram, lookups, own.table.rows, 1.0 / devices);
  }
  const double outputs = table.pooled ? bags : lookups * rows;
  const double each = shape.replicated ? outputs / devices : outputs;
  own.batch_size = std::max<std::int64_t>(1, std::llround(each));
  // FeatureInput takes the shape's share of a sample's lookups.
  const double seen = shape.replicated ? lookups / devices : lookups;
  own.table.pooling_factor = seen / static_cast<double>(own.batch_size);
  return own;
}

PooledLookup in_learned_bags(PooledLookup lookup) {
  // Networks have learned batches of 1,024 samples or more, and of less than 4,096 hardly a bag of
  // 200 lookups. Few of them were up to 0.6 ms below the simulator, and below 0 (h100_sim and
  // h200_sim, a table of 128 columns on every device, 64 to 512 samples). In parts of 10 lookups
  // or more they are within 4 % of it, with 64 to 2,048 samples, 1 to 200 lookups, and a100_sim.
  constexpr double kManyBags = 4096;
  constexpr double kLeastInBag = 10;
  const auto bags = static_cast<double>(lookup.batch_size);
  const double parts =
      std::floor(std::min(std::ceil(kManyBags / bags), lookup.table.pooling_factor / kLeastInBag));
  if (parts < 2) return lookup;
  lookup.batch_size *= static_cast<std::int64_t>(parts);
  lookup.table.pooling_factor /= parts;
  return lookup;
}

}  // namespace neuroshard
