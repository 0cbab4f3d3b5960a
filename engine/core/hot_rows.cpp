#include "engine/core/hot_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>

#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kValueBytes = 4;  // of gradients and sums

double lookups_of(const Table& table, std::int64_t batch_size) {
  return static_cast<double>(batch_size) * table.pooling_factor;
}

double distinct_of(const Table& table, std::int64_t batch_size) {
  return distinct_rows(table.reuse_histogram, lookups_of(table, batch_size), table.rows);
}

/// Of a hot row on every device: what it has on one, and its gradients.
std::int64_t bytes_of_row(const Table& table) {
  return row_bytes(table, table.dim) + kValueBytes * table.dim;
}

/// Share of bags with a lookup that is not hot, of so many lookups in the mean.
double cold_bags_of(double lookups, double hot_share) {
  const double few = std::floor(lookups);
  const double more = lookups - few;
  const double all_hot = std::pow(hot_share, few);
  return 1 - all_hot * ((1 - more) + more * hot_share);
}

/// The shares of a histogram as those of all its rows.
void add_up_to_one(ReuseHistogram& histogram) {
  double all = 0;
  for (const double share : histogram) all += share;
  if (!(all > 0)) return;
  for (double& share : histogram) share /= all;
}

}  // namespace

std::vector<HotRows> hot_rows(const Plan& plan) {
  std::map<std::int32_t, std::int64_t> rows;
  for (const Shard& shard : plan.shards) {
    if (shard.kernel.hot_rows > 0) rows.emplace(shard.table, shard.kernel.hot_rows);
  }
  std::vector<HotRows> hot;
  for (const auto& [table, count] : rows) hot.push_back({table, count});
  return hot;
}

Status give_hot_rows(std::span<const HotRows> hot, Plan& plan) {
  for (std::size_t index = 0; index < hot.size(); ++index) {
    const std::string where = "hot_rows[" + std::to_string(index) + "]: ";
    if (hot[index].rows < 1) {
      return invalid_input(where + std::to_string(hot[index].rows) + " rows, expected 1 or more");
    }
    bool given = false;
    for (Shard& shard : plan.shards) {
      if (shard.table != hot[index].table) continue;
      if (shard.device == kEveryDevice) {
        return invalid_input(where + "table " + std::to_string(shard.table) +
                             " is whole on every device, expected one in shards");
      }
      shard.kernel.hot_rows = hot[index].rows;
      given = true;
    }
    if (!given) {
      return invalid_input(where + "table " + std::to_string(hot[index].table) + " has no shards");
    }
  }
  return {};
}

Status check_no_hot_rows(const Plan& plan, std::string_view why) {
  const std::vector<HotRows> hot = hot_rows(plan);
  if (hot.empty()) return {};
  return invalid_input("table " + std::to_string(hot.front().table) + ": found " +
                       std::to_string(hot.front().rows) + " hot rows on every device, expected " +
                       "none: " + std::string(why));
}

Status check_hot_rows(const Workload& workload, const Plan& plan) {
  std::int64_t bytes = 0;
  for (const Table& table : workload.tables) bytes += most_bytes(table);  // of a valid workload
  for (const HotRows& hot : hot_rows(plan)) {
    if (hot.table < 0 || hot.table >= std::ssize(workload.tables)) continue;  // no hot row's fault
    const Table& table = workload.tables[static_cast<std::size_t>(hot.table)];
    if (hot.rows >= table.rows) {
      return invalid_input(table_label(workload, hot.table) + ": " + std::to_string(hot.rows) +
                           " hot rows, expected fewer than its " + std::to_string(table.rows));
    }
    std::int64_t own = 0;
    if (__builtin_mul_overflow(hot.rows, bytes_of_row(table), &own) ||
        __builtin_add_overflow(bytes, own, &bytes)) {
      return invalid_input(table_label(workload, hot.table) + ": " + std::to_string(hot.rows) +
                           " hot rows, expected bytes of all tables below 2^63 with them");
    }
  }
  return {};
}

std::int64_t hot_row_bytes(const Table& table, std::int64_t rows, const StepMemory& step) {
  const ShardShape all{.rows = table.rows, .dim = table.dim, .replicated = true};
  return rows * bytes_of_row(table) + buffer_bytes(table, all, step);
}

LookupParts lookup_parts(const Table& table, std::int64_t rows, std::int64_t batch_size) {
  LookupParts parts;
  parts.cold = table.reuse_histogram;
  if (rows == 0) return parts;
  const double distinct = distinct_of(table, batch_size);
  if (!(distinct > 0)) return parts;
  double left = static_cast<double>(rows) / distinct;  // of the distinct rows
  double hot = 0;
  double all = 0;
  for (std::size_t bin = parts.cold.size(); bin-- > 0;) {
    const double share = parts.cold[bin];
    const double taken = std::min(share, left);
    left -= taken;
    parts.hot[bin] = taken;
    parts.cold[bin] = share - taken;
    parts.hot_distinct += taken * distinct;
    const double count = reuse_bin_center(static_cast<int>(bin));
    hot += taken * count;
    all += share * count;
  }
  parts.hot_share = std::clamp(hot / all, 0.0, 1.0);
  add_up_to_one(parts.hot);
  add_up_to_one(parts.cold);
  if (table.pooled) {
    parts.cold_bags = cold_bags_of(table.pooling_factor / table.features, parts.hot_share);
  }
  return parts;
}

double merge_ms(double values, double gbps) {
  constexpr double kPasses = 3;
  constexpr double kMsPerByte = 1e-6;  // at 1 GB/s
  return kPasses * values * kValueBytes / gbps * kMsPerByte;
}

std::vector<HotLevel> hot_levels(const Table& table, std::int64_t batch_size) {
  const double distinct = distinct_of(table, batch_size);
  std::vector<HotLevel> levels;
  double rows = 0;
  for (int bin = kReuseBins - 1; bin > 0; --bin) {
    rows += distinct * table.reuse_histogram[static_cast<std::size_t>(bin)];
    const auto whole = static_cast<std::int64_t>(rows);
    if (whole >= table.rows) break;
    if (whole < 1 || (!levels.empty() && levels.back().rows == whole)) continue;
    levels.push_back({whole, reuse_bin_range(bin).low});
  }
  return levels;
}

std::int64_t least_count(const Table& table, std::int64_t rows, std::int64_t batch_size) {
  const double distinct = distinct_of(table, batch_size);
  double counted = 0;
  for (int bin = kReuseBins - 1; bin >= 0; --bin) {
    counted += distinct * table.reuse_histogram[static_cast<std::size_t>(bin)];
    if (static_cast<std::int64_t>(counted) >= rows) return reuse_bin_range(bin).low;
  }
  return 0;
}

}  // namespace neuroshard
