#include "engine/ground_truth/sim/shard_load.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace neuroshard {
namespace {

constexpr std::int32_t kRowBytes = 8;     // FBGEMM's 64-bit indices
constexpr std::int32_t kWeightBytes = 4;  // of a lookup's own weight

double distinct_of_batch(const Table& table, double lookups) {
  const double distinct = distinct_rows(table.reuse_histogram, lookups, table.rows);
  if (distinct > 0) return distinct;
  return std::min(lookups, static_cast<double>(table.rows));  // no histogram
}

ShardLoad load_of(const Workload& workload, const Table& table, std::int64_t rows,
                  std::int32_t dim) {
  const auto samples = static_cast<double>(workload.batch_size);
  const double part = static_cast<double>(rows) / static_cast<double>(table.rows);
  ShardLoad load;
  load.rows = rows;
  load.dim = dim;
  load.row_bytes = weight_bytes(table.data_type, dim);
  load.lookup_bytes = kRowBytes + (table.weighted ? kWeightBytes : 0);
  load.state_bytes = state_bytes_per_row(table.optimizer, dim);
  load.lookups = samples * table.pooling_factor * part;
  load.pooled = table.pooled;
  load.bags = table.pooled ? samples * table.features : load.lookups;
  load.distinct = distinct_of_batch(table, samples * table.pooling_factor) * part;
  load.use = row_use(table.reuse_histogram, load.lookups, load.distinct);
  return load;
}

double share_of(const Workload& workload, std::int64_t samples) {
  return static_cast<double>(samples) / static_cast<double>(workload.batch_size);
}

/// Of that share of the samples.
ShardLoad thinned(ShardLoad load, double share) {
  const double seen_everywhere = load.distinct;
  load.bags *= share;
  load.lookups *= share;
  load.distinct = 0;
  for (std::size_t bin = 0; bin < load.use.rows.size(); ++bin) {
    const double seen = -std::expm1(load.use.count[bin] * std::log1p(-share));
    if (!(seen > 0)) continue;
    load.distinct += load.use.rows[bin] * seen;
    load.use.rows[bin] *= seen;
    load.use.count[bin] *= share / seen;
  }
  if (!(load.distinct > 0)) load.distinct = std::min(seen_everywhere, load.lookups);
  load.distinct = std::min(load.distinct, load.lookups);
  return load;
}

}  // namespace

ShardLoad shard_load(const Workload& workload, const Shard& shard) {
  const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
  ShardLoad load = load_of(workload, table, shard.rows(), shard.dim());
  if (shard.kernel.hot_rows == 0) return load;
  const LookupParts parts = lookup_parts(table, shard.kernel.hot_rows, workload.batch_size);
  load.lookups *= 1 - parts.hot_share;
  load.bags = table.pooled ? load.bags * parts.cold_bags : load.lookups;
  if (parts.distinct > 0) load.distinct *= 1 - parts.hot_distinct / parts.distinct;
  load.use = row_use(parts.cold, load.lookups, load.distinct);
  return load;
}

ShardLoad replica_load(const Workload& workload, std::int32_t index, std::int64_t samples) {
  const Table& table = workload.tables[static_cast<std::size_t>(index)];
  return thinned(load_of(workload, table, table.rows, table.dim), share_of(workload, samples));
}

ShardLoad hot_load(const Workload& workload, const HotRows& hot, std::int64_t samples) {
  const Table& table = workload.tables[static_cast<std::size_t>(hot.table)];
  const LookupParts parts = lookup_parts(table, hot.rows, workload.batch_size);
  ShardLoad load = load_of(workload, table, table.rows, table.dim);
  load.rows = hot.rows;
  load.lookups *= parts.hot_share;
  if (!table.pooled) load.bags = load.lookups;
  load.distinct = parts.hot_distinct;
  load.use = row_use(parts.hot, load.lookups, load.distinct);
  return thinned(load, share_of(workload, samples));
}

}  // namespace neuroshard
