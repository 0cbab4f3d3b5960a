#include "engine/core/hot_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>

#include "engine/core/bin_lookups.h"
#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kValueBytes = 4;  // of gradients and sums

/// Of a hot row on every device: what it has on one, and its gradients.
std::int64_t bytes_of_row(const Table& table) {
  return row_bytes(table, table.dim) + kValueBytes * table.dim;
}

/// So many, where rounding may have left a little less than a whole number.
std::int64_t whole_rows(double rows) { return static_cast<std::int64_t>(rows + 1e-6); }

/// The shares of a histogram as those of all its rows.
void add_up_to_one(ReuseHistogram& histogram) {
  double all = 0;
  for (const double share : histogram) all += share;
  if (!(all > 0)) return;
  for (double& share : histogram) share /= all;
}

/// What so many of the hottest rows take of a batch's lookups and bags.
struct HotShares {
  double counted = 0;
  double next = 0;  ///< of a batch like it
  double bags = 0;  ///< with no other row, where that was counted
};

/// Moves so many rows from `parts.cold` to `parts.hot`, from the last bin down. `lookups`: of the
/// batch.
HotShares take_hottest(const BinLookups& bins, double lookups, double rows,
                       const HotCoverage& coverage, LookupParts& parts) {
  double hot = 0;
  double lucky = 0;  // what the least hot ones have more than they will
  HotShares shares;
  double covered = 0;  // bags, by the bins above
  for (std::size_t bin = kReuseBins; bin-- > 0;) {
    if (!(bins.rows[bin] > 0)) continue;
    const double taken = std::min(1.0, rows / bins.rows[bin]);
    rows = taken < 1 ? 0 : rows - bins.rows[bin];
    parts.hot[bin] = taken * parts.cold[bin];
    parts.cold[bin] -= parts.hot[bin];
    parts.hot_distinct += taken * bins.rows[bin];
    hot += taken * bins.lookups[bin];
    if (taken > 0) {
      lucky += taken * (bins.least[bin] - lucky);
      shares.bags = covered + taken * (coverage.bags[bin] - covered);
    }
    covered = coverage.bags[bin];
  }
  shares.counted = std::clamp(hot / lookups, 0.0, 1.0);
  shares.next = std::clamp((hot - lucky) / lookups, 0.0, 1.0);
  return shares;
}

/// By the formula; where bags were counted, as much fewer as the formula says too many of them.
double cold_bags_of(const Table& table, const HotShares& shares) {
  const double lookups = table.pooling_factor / table.features;
  const double next = cold_bag_share(lookups, shares.next, table.bag_lengths);
  const double counted = cold_bag_share(lookups, shares.counted, table.bag_lengths);
  if (!table.hot_coverage.known() || !(counted > 0)) return next;
  return std::min(1.0, next * (1 - shares.bags) / counted);
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

double cold_bag_share(double lookups, double hot_share, BagLengths lengths) {
  if (lengths == BagLengths::kPoisson) return -std::expm1(-lookups * (1 - hot_share));
  const double few = std::floor(lookups);
  const double more = lookups - few;
  const double all_hot = std::pow(hot_share, few);
  return 1 - all_hot * ((1 - more) + more * hot_share);
}

LookupParts lookup_parts(const Table& table, std::int64_t rows, std::int64_t batch_size) {
  LookupParts parts;
  parts.cold = table.reuse_histogram;
  const BinLookups bins = bin_lookups(table, batch_size);
  parts.distinct = bins.distinct;
  if (rows == 0 || !(bins.distinct > 0)) return parts;
  const double lookups = static_cast<double>(batch_size) * table.pooling_factor;
  const HotShares shares =
      take_hottest(bins, lookups, static_cast<double>(rows), table.hot_coverage, parts);
  parts.counted_share = shares.counted;
  parts.hot_share = shares.next;
  add_up_to_one(parts.hot);
  add_up_to_one(parts.cold);
  if (table.pooled) parts.cold_bags = cold_bags_of(table, shares);
  return parts;
}

Table moved_on(const Table& table, double kept, std::int64_t batch_size) {
  Table later = table;
  const BinLookups bins = bin_lookups(table, batch_size);
  const double lookups = static_cast<double>(batch_size) * table.pooling_factor;
  const double in_bag = table.pooling_factor / table.features;
  const HotCoverage& counted = table.hot_coverage;
  double above = 0;
  double hot_bags = 0;  // of more rows never fewer, which rounding would have
  for (std::size_t bin = kReuseBins; bin-- > 0 && lookups > 0;) {
    above = std::min(1.0, above + bins.lookups[bin] / lookups);
    const double cold = cold_bag_share(in_bag, above, table.bag_lengths);
    const double now = counted.known() ? 1 - counted.bags[bin] : cold;
    const double then = cold_bag_share(in_bag, kept * above, table.bag_lengths);
    later.hot_coverage.lookups[bin] = kept * above;
    hot_bags = std::max(hot_bags, 1 - std::min(1.0, cold > 0 ? then * now / cold : then));
    later.hot_coverage.bags[bin] = hot_bags;
  }
  return later;
}

double merge_ms(double values, double gbps) {
  constexpr double kPasses = 3;
  constexpr double kMsPerByte = 1e-6;  // at 1 GB/s
  return kPasses * values * kValueBytes / gbps * kMsPerByte;
}

std::vector<HotLevel> hot_levels(const Table& table, std::int64_t batch_size) {
  const BinLookups bins = bin_lookups(table, batch_size);
  std::vector<HotLevel> levels;
  double rows = 0;
  for (int bin = kReuseBins - 1; bin > 0; --bin) {
    rows += bins.rows[static_cast<std::size_t>(bin)];
    const std::int64_t whole = whole_rows(rows);
    if (whole >= table.rows) break;
    if (whole < 1 || (!levels.empty() && levels.back().rows == whole)) continue;
    levels.push_back({whole, reuse_bin_range(bin).low});
  }
  return levels;
}

std::int64_t least_count(const Table& table, std::int64_t rows, std::int64_t batch_size) {
  const BinLookups bins = bin_lookups(table, batch_size);
  double counted = 0;
  for (int bin = kReuseBins - 1; bin >= 0; --bin) {
    counted += bins.rows[static_cast<std::size_t>(bin)];
    if (whole_rows(counted) >= rows) return reuse_bin_range(bin).low;
  }
  return 0;
}

}  // namespace neuroshard
