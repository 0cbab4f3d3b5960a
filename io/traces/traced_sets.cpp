#include "io/traces/traced_sets.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace neuroshard::io {
namespace {

// How far a batch's lookups may be from what the tables say: pooling factors are means, of other
// batches, too. Times of a quarter more lookups are a quarter longer.
constexpr double kLookupsApart = 0.25;
constexpr double kFewLookups = 64;

Status check_shard(const Workload& workload, const Shard& shard) {
  const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
  std::string found;
  if (shard.device == kEveryDevice) found = "it on every device";
  if (shard.kernel.hot_rows > 0) found = "hot rows";
  if (shard.kernel.offloaded()) found = "it in host memory";
  if (shard.row_begin != 0 || shard.row_end != table.rows) found = "part of its rows in a shard";
  if (table.data_type != DataType::kFp32) found = std::string(to_string(table.data_type));
  if (!table.pooled) found = "lookups that are not pooled";
  if (found.empty()) return {};
  return invalid_input(table_label(workload, shard.table) + ": found " + found +
                       ", expected whole rows of pooled lookups in fp32: cost data has no place "
                       "for others");
}

/// Columns of each device's outputs of a sample, one for each feature. REQUIRES check_shard() of
/// all.
std::vector<std::int64_t> output_columns(const Workload& workload, const Plan& plan) {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(plan.devices));
  for (const Shard& shard : plan.shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    columns[static_cast<std::size_t>(shard.device)] += std::int64_t{shard.dim()} * table.features;
  }
  return columns;
}

/// Lookups that each device's shards have of a batch in the mean. REQUIRES the same.
std::vector<double> expected_lookups(const Workload& workload, const Plan& plan) {
  std::vector<double> lookups(static_cast<std::size_t>(plan.devices));
  for (const Shard& shard : plan.shards) {
    lookups[static_cast<std::size_t>(shard.device)] +=
        workload.tables[static_cast<std::size_t>(shard.table)].pooling_factor *
        static_cast<double>(workload.batch_size);
  }
  return lookups;
}

/// kInvalidInput where the trainer looked up much more or less than the tables say.
Status check_lookups(const StepTrace& trace, const Workload& workload, const Plan& plan) {
  const std::vector<double> expected = expected_lookups(workload, plan);
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    const std::optional<std::int64_t> found = trace.ranks[rank].lookups;
    if (!found) continue;
    const double apart = std::abs(static_cast<double>(*found) - expected[rank]);
    if (apart <= kLookupsApart * expected[rank] + kFewLookups) continue;
    return invalid_input("rank " + std::to_string(rank) + ": found " + std::to_string(*found) +
                         " lookups in its trace, expected about " +
                         std::to_string(std::llround(expected[rank])) +
                         " by the tables' pooling factors");
  }
  return {};
}

Status check_same_run(const StepTrace& trace, const Workload& workload, const Plan& plan) {
  if (std::ssize(trace.ranks) != plan.devices) {
    return invalid_input("the plan: found " + std::to_string(plan.devices) + " devices, expected " +
                         std::to_string(trace.ranks.size()) + " as the traces have ranks");
  }
  if (trace.batch_size && *trace.batch_size != workload.batch_size) {
    return invalid_input("the tables: found a batch of " + std::to_string(workload.batch_size) +
                         ", expected " + std::to_string(*trace.batch_size) + " as in the traces");
  }
  const std::vector<std::int64_t> columns = output_columns(workload, plan);
  for (std::size_t rank = 0; rank < columns.size(); ++rank) {
    const RankStep& step = trace.ranks[rank];
    if (!step.forward_ms || !step.backward_ms) {
      return invalid_input(
          "rank " + std::to_string(rank) +
          ": found no times of lookups in its trace, expected those of a profiler");
    }
    if (!step.dims || *step.dims == columns[rank]) continue;
    return invalid_input("rank " + std::to_string(rank) + ": found " +
                         std::to_string(columns[rank]) + " columns in the plan, expected " +
                         std::to_string(*step.dims) + " as in its trace");
  }
  return {};
}

Collection collection_of(const StepTrace& trace, const Workload& workload) {
  Collection own;
  own.kind = CollectionKind::kCompute;
  own.backend = trace.hardware.empty() ? Backend::kCpu : Backend::kCuda;
  own.hardware =
      (trace.hardware.empty() ? "a CPU" : trace.hardware) + std::string(" by a trainer's trace");
  own.batch_size = workload.batch_size;
  own.flags["trace"] = trace.source;
  own.flags["steps"] = std::to_string(trace.steps);
  return own;
}

}  // namespace

Result<TracedSets> make_traced_sets(const StepTrace& trace, const Workload& workload,
                                    const Plan& plan) {
  for (const Shard& shard : plan.shards) NEUROSHARD_RETURN_IF_ERROR(check_shard(workload, shard));
  NEUROSHARD_RETURN_IF_ERROR(check_same_run(trace, workload, plan));
  NEUROSHARD_RETURN_IF_ERROR(check_lookups(trace, workload, plan));
  TracedSets sets;
  sets.collection = collection_of(trace, workload);
  std::vector<ComputeSample> by_device(static_cast<std::size_t>(plan.devices));
  for (const Shard& shard : plan.shards) {
    Table own = workload.tables[static_cast<std::size_t>(shard.table)];
    own.dim = shard.dim();
    by_device[static_cast<std::size_t>(shard.device)].tables.push_back(
        static_cast<std::int32_t>(sets.pool.size()));
    sets.pool.push_back(std::move(own));
  }
  for (std::size_t rank = 0; rank < by_device.size(); ++rank) {
    ComputeSample& sample = by_device[rank];
    sample.cost_ms = *trace.ranks[rank].forward_ms + *trace.ranks[rank].backward_ms;
    if (sample.tables.empty()) continue;
    if (!(sample.cost_ms > 0) || sample.cost_ms > kMaxCostMs) {
      return invalid_input("rank " + std::to_string(rank) +
                           ": found lookups that take no time, or more than an hour");
    }
    sets.samples.push_back(std::move(sample));
  }
  return sets;
}

}  // namespace neuroshard::io
