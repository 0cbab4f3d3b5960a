#include "engine/ground_truth/sim/plan_loads.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "engine/core/row_skew.h"
#include "engine/ground_truth/requests/request.h"

namespace neuroshard {
namespace {

constexpr double kGradientBytes = 4;

/// The skew of each row shard of the plan, found once for those of the same columns.
class RowSkews {
 public:
  RowSkews(const Workload& workload, const Plan& plan) : workload_(workload) {
    for (const Shard& shard : plan.shards) {
      if (!is_replica(shard))
        columns_[columns_of(shard)].push_back({shard.row_begin, shard.rows()});
    }
  }

  /// 1 of a shard with all rows of its columns.
  double of(const Shard& shard) {
    std::vector<Block>& blocks = columns_.at(columns_of(shard));
    if (blocks.size() < 2) return 1;
    if (blocks.front().skew < 0) find_skews(shard, blocks);
    return std::ranges::lower_bound(blocks, shard.row_begin, {}, &Block::row_begin)->skew;
  }

 private:
  struct Block {
    std::int64_t row_begin;
    std::int64_t rows;
    double skew = -1;  // not known yet
  };
  using Columns = std::array<std::int32_t, 3>;

  static Columns columns_of(const Shard& shard) {
    return {shard.table, shard.column_begin, shard.column_end};
  }

  /// Those of as many even blocks, so that the lookups of all of them stay what they are.
  void find_skews(const Shard& shard, std::vector<Block>& blocks) const {
    std::ranges::sort(blocks, {}, &Block::row_begin);
    const Shard whole = whole_table(workload_, shard.table, 0, shard.kernel);
    const std::vector<double> skews =
        block_skews(shard_load(workload_, whole).use, static_cast<std::int32_t>(blocks.size()));
    double rows = 0;
    double lookups = 0;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const std::size_t rank = (k + static_cast<std::size_t>(shard.table)) % blocks.size();
      blocks[k].skew = skews[rank];
      rows += static_cast<double>(blocks[k].rows);
      lookups += skews[rank] * static_cast<double>(blocks[k].rows);
    }
    for (Block& block : blocks) block.skew *= rows / lookups;
  }

  const Workload& workload_;
  std::map<Columns, std::vector<Block>> columns_;
};

/// What each host has of columns whose rows are shared out, once their partial sums are added up.
class HostSums {
 public:
  explicit HostSums(std::int32_t devices_per_host) : devices_per_host_(devices_per_host) {}

  /// Its host's devices send the columns on, unless they do so for another of their row shards.
  void add(const Shard& shard, double values, std::vector<double>& added_up) {
    const std::int32_t host = shard.device / devices_per_host_;
    if (!known_.insert({host, shard.table, shard.column_begin, shard.column_end}).second) return;
    const auto each = static_cast<std::size_t>(devices_per_host_);
    const std::size_t first = static_cast<std::size_t>(host) * each;
    const std::size_t end = std::min(first + each, added_up.size());  // the last may have fewer
    for (std::size_t device = first; device < end; ++device) added_up[device] += values;
  }

 private:
  const std::int32_t devices_per_host_;
  std::set<std::array<std::int32_t, 4>> known_;
};

/// The shard with its rows looked up `skew` times as often.
ShardLoad heated(ShardLoad load, double skew, bool pooled) {
  load.lookups *= skew;
  load.distinct = std::min(load.distinct, load.lookups);
  for (double& count : load.use.count) count *= skew;
  if (!pooled) load.bags = load.lookups;
  return load;
}

/// Values of its outputs, for a sample.
double values_of(const ShardLoad& load, double samples) { return load.dim * load.bags / samples; }

void add_replica(const Workload& workload, const Plan& plan, const Shard& shard, PlanLoads& loads) {
  for (std::int32_t device = 0; device < plan.devices; ++device) {
    ShardLoad load = replica_load(workload, shard.table,
                                  samples_of_device(workload.batch_size, plan.devices, device));
    load.replica = true;
    loads.lookups[static_cast<std::size_t>(device)].push_back(load);
  }
  loads.reduced_bytes += static_cast<double>(shard.rows()) * shard.dim() * kGradientBytes;
}

void add_hot_rows(const Workload& workload, const Plan& plan, PlanLoads& loads) {
  for (const HotRows& hot : hot_rows(plan)) {
    const Table& table = workload.tables[static_cast<std::size_t>(hot.table)];
    for (std::int32_t device = 0; device < plan.devices; ++device) {
      loads.lookups[static_cast<std::size_t>(device)].push_back(
          hot_load(workload, hot, samples_of_device(workload.batch_size, plan.devices, device)));
    }
    loads.reduced_bytes += static_cast<double>(hot.rows) * table.dim * kGradientBytes;
    if (table.pooled) loads.merged_values += static_cast<double>(table.dim) * table.features;
  }
}

}  // namespace

PlanLoads plan_loads(const Workload& workload, const Plan& plan, std::int32_t devices_per_host) {
  const auto devices = static_cast<std::size_t>(plan.devices);
  PlanLoads loads{std::vector<std::vector<ShardLoad>>(devices),
                  {.whole = std::vector<double>(devices),
                   .partial = std::vector<double>(devices),
                   .added_up = std::vector<double>(devices)}};
  const std::vector<ShardShape> shapes = shapes_of(plan);
  RowSkews skews(workload, plan);
  HostSums sums(devices_per_host);
  bool reduces = false;
  bool exchanges = false;
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    const Shard& shard = plan.shards[i];
    if (is_replica(shard)) {
      add_replica(workload, plan, shard, loads);
      continue;
    }
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    const auto device = static_cast<std::size_t>(shard.device);
    const ShardLoad load = heated(shard_load(workload, shard), skews.of(shard), table.pooled);
    const double values = values_of(load, static_cast<double>(workload.batch_size));
    const bool partial = table.pooled && shard.rows() < table.rows;
    const bool reduced = partial && shapes[i].reduce_scattered(plan.devices, devices_per_host);
    (reduced ? reduces : exchanges) = true;
    (partial ? loads.exchange.partial : loads.exchange.whole)[device] += values;
    if (partial && shapes[i].row_blocks < plan.devices) loads.exchange.in_steps = true;
    if (partial) sums.add(shard, values, loads.exchange.added_up);
    loads.lookups[device].push_back(load);
  }
  add_hot_rows(workload, plan, loads);
  if (reduces && exchanges) loads.exchange.collectives = 2;
  return loads;
}

}  // namespace neuroshard
