#include "engine/ground_truth/random_sets.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "engine/core/bytes.h"
#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

constexpr int kMostRedraws = 1000000;
constexpr std::uint64_t kRowPartsSeed = 0x726f7773;  // any: what matters is that it stays
constexpr std::uint64_t kLookupsSeed = 0x6c6f6f6b;

// NeuroShard, collect_comm_cost_data.py: T_range 10,60 and sleep_range 1,20, upper ends excluded.
constexpr std::int64_t kFewestTables = 10;
constexpr std::int64_t kMostTables = 59;
constexpr std::int64_t kWidestSpread = 19;

}  // namespace

std::vector<std::int32_t> dim_choices(std::int32_t max_dim, bool every_dim) {
  std::vector<std::int32_t> dims;
  for (std::int32_t dim = max_dim; dim % 4 == 0 && dim > 0; dim = every_dim ? dim - 4 : dim / 2) {
    dims.push_back(dim);
  }
  return dims;
}

std::vector<Table> augmented_pool(const std::vector<Table>& tables, std::int32_t max_dim,
                                  bool every_dim) {
  std::vector<Table> pool;
  const std::vector<std::int32_t> dims = dim_choices(max_dim, every_dim);
  pool.reserve(tables.size() * dims.size());
  for (const std::int32_t dim : dims) {
    for (const Table& table : tables) pool.emplace_back(table).dim = dim;
  }
  return pool;
}

void draw_lookups(const LookupMix& mix, std::vector<Table>& pool) {
  Rng rng(kLookupsSeed);
  const double doublings = std::log2(static_cast<double>(mix.most_features));
  for (Table& table : pool) {
    const double features = std::round(std::exp2(rng.uniform() * doublings));
    const bool not_pooled = rng.uniform() < mix.not_pooled;
    if (mix.most_features > 1) table.features = static_cast<std::int32_t>(features);
    if (mix.not_pooled > 0) table.pooled = !not_pooled;
  }
}

std::vector<std::int32_t> draw_row_parts(const std::vector<Table>& pool, std::int32_t most_parts) {
  std::vector<std::int32_t> parts;
  parts.reserve(pool.size());
  Rng rng(kRowPartsSeed);
  const double doublings = std::log2(static_cast<double>(most_parts) / 2);
  for (const Table& table : pool) {
    const double drawn = std::round(2 * std::exp2(rng.uniform() * doublings));
    parts.push_back(static_cast<std::int32_t>(std::min(drawn, static_cast<double>(table.rows))));
  }
  return parts;
}

Table row_part(const Table& table, std::int32_t parts) {
  Table part = table;
  part.rows = (table.rows - 1) / parts + 1;
  part.pooling_factor *= static_cast<double>(part.rows) / static_cast<double>(table.rows);
  return part;
}

Result<SetDraw> SetDraw::make(const std::vector<Table>& pool, std::int32_t max_tables,
                              std::int64_t max_memory_bytes, std::int32_t max_distinct) {
  if (pool.empty()) return invalid_input("no tables to draw sets from, expected at least one");
  SetDraw draw;
  draw.max_tables_ = max_tables;
  draw.max_distinct_ = max_distinct;
  draw.max_memory_bytes_ = max_memory_bytes;
  for (const Table& table : pool) draw.bytes_.push_back(table_bytes(table, {}));
  const std::int64_t smallest = *std::min_element(draw.bytes_.begin(), draw.bytes_.end());
  if (smallest > max_memory_bytes / max_tables) {
    return invalid_input("max-memory is " + format_bytes(max_memory_bytes) + ", but " +
                         std::to_string(max_tables) + " of the smallest table need " +
                         std::to_string(max_tables) + " x " + format_bytes(smallest));
  }
  return draw;
}

Result<std::vector<std::int32_t>> SetDraw::draw(std::uint64_t seed, std::int64_t sample) const {
  Rng rng = Rng(seed).fork(static_cast<std::uint64_t>(sample));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(rng.between(1, max_tables_)));
  std::vector<std::int32_t> distinct;
  if (max_distinct_ > 0) {
    const auto most = std::min<std::int64_t>(max_distinct_, std::ssize(ids));
    distinct.resize(static_cast<std::size_t>(rng.between(1, most)));
  }
  const auto any_entry = [&] { return static_cast<std::int32_t>(rng.below(bytes_.size())); };
  for (int attempt = 0; attempt < kMostRedraws; ++attempt) {
    std::int64_t left = max_memory_bytes_;
    for (std::int32_t& id : distinct) id = any_entry();
    for (std::int32_t& id : ids) {
      id = distinct.empty() ? any_entry() : distinct[rng.below(distinct.size())];
      // Once below 0 it stays there: no overflow, however large the tables.
      if (left >= 0) left -= std::min(bytes_[static_cast<std::size_t>(id)], left + 1);
    }
    if (left >= 0) return ids;
  }
  return invalid_input("no set of " + std::to_string(ids.size()) + " tables below max-memory " +
                       format_bytes(max_memory_bytes_) + " in a million draws (sample " +
                       std::to_string(sample) + "): raise max-memory or lower max-tables");
}

ExchangeSample draw_exchange(std::uint64_t seed, std::int64_t sample, std::int32_t devices,
                             std::int32_t max_dim) {
  Rng rng = Rng(seed).fork(static_cast<std::uint64_t>(sample));
  const std::vector<std::int32_t> choices = dim_choices(max_dim);
  std::vector<std::int32_t> tables(
      static_cast<std::size_t>(rng.between(kFewestTables, kMostTables)));
  for (std::int32_t& dim : tables) dim = choices[rng.below(choices.size())];
  std::sort(tables.begin(), tables.end(), std::greater<>());

  ExchangeSample exchange;
  exchange.dims.assign(static_cast<std::size_t>(devices), 0);
  const double random_share = rng.uniform();
  for (const std::int32_t dim : tables) {
    const bool random = rng.uniform() < random_share;
    const auto smallest = std::min_element(exchange.dims.begin(), exchange.dims.end());
    (random ? exchange.dims[rng.below(exchange.dims.size())] : *smallest) += dim;
  }
  const std::int64_t spread = rng.between(1, kWidestSpread);
  for (std::int32_t device = 0; device < devices; ++device) {
    exchange.starts_ms.push_back(static_cast<double>(rng.between(0, spread - 1)));
  }
  const double first = *std::min_element(exchange.starts_ms.begin(), exchange.starts_ms.end());
  for (double& start : exchange.starts_ms) start -= first;
  return exchange;
}

}  // namespace neuroshard
