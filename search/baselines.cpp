#include "search/baselines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/rng.h"
#include "search/device_order.h"
#include "search/feasibility.h"

namespace neuroshard::search {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

struct WeightedTable {
  double weight;
  std::int64_t bytes;
  std::int32_t table;
};

double by_size(const Table&, std::int64_t bytes) { return static_cast<double>(bytes); }
double by_dim(const Table& table, std::int64_t) { return table.dim; }
double by_lookup(const Table& table, std::int64_t) { return table.dim * table.pooling_factor; }
double by_size_lookup(const Table& table, std::int64_t bytes) {
  return by_lookup(table, bytes) * std::log10(static_cast<double>(table.rows));
}

/// A greedy pass over the tables: where each went, and how full the fullest device is. Stops at the
/// first table that fits nowhere.
struct GreedyPass {
  Plan plan;
  std::int64_t most_bytes = 0;
  std::int32_t unplaced = -1;  ///< table that fits nowhere, or -1
};

GreedyPass place_all(const Problem& problem, const std::vector<WeightedTable>& tables,
                     std::int64_t memory) {
  GreedyPass pass;
  pass.plan.devices = problem.cluster.devices;
  DeviceOrder devices;
  devices.reset(problem.cluster.devices);
  for (const WeightedTable& item : tables) {
    const DeviceSet& allowed = problem.space.of(item.table).devices;
    const auto takes = [&](const DeviceLoad& device) {
      return device.bytes <= memory - item.bytes && allowed.has(device.device);
    };
    std::size_t rank = 0;
    while (rank < devices.size() && !takes(devices[rank])) ++rank;
    if (rank == devices.size()) {
      pass.unplaced = item.table;
      return pass;
    }
    const DeviceLoad& device = devices[rank];
    pass.plan.shards.push_back(problem.space.whole_on(device.device, item.table));
    pass.most_bytes = std::max(pass.most_bytes, device.bytes + item.bytes);
    devices.add(rank, device.load + item.weight, item.bytes, 0);
  }
  return pass;
}

Result<SearchResult> shard_greedy(const Problem& problem,
                                  double (*weigh)(const Table&, std::int64_t)) {
  NEUROSHARD_RETURN_IF_ERROR(check_whole_tables(problem));
  std::vector<WeightedTable> tables;
  for (const TableSpace& own : problem.space.tables) {
    const auto table = static_cast<std::int32_t>(tables.size());
    const std::int64_t bytes = problem.space.whole_bytes(table);
    tables.push_back({weigh(*own.table, bytes), bytes, table});
  }
  std::sort(tables.begin(), tables.end(), [](const WeightedTable& a, const WeightedTable& b) {
    if (a.weight != b.weight) return a.weight > b.weight;
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.table > b.table;
  });
  GreedyPass pass = place_all(problem, tables, problem.cluster.memory_bytes);
  if (pass.unplaced >= 0) {
    const std::string enough = memory_would_do(place_all(problem, tables, kNoLimit).most_bytes);
    if (const auto shortage = shortage_in_all(problem)) {
      return infeasible(shortage->blame + ": " + enough);
    }
    const TableSpace& table = problem.space.of(pass.unplaced);
    return infeasible(
        table_label(problem.workload, pass.unplaced) + " of " +
        format_bytes(problem.space.whole_bytes(pass.unplaced)) + " fits whole on none of " +
        (table.devices.all() ? std::to_string(problem.cluster.devices) + " devices"
                             : "its devices (" + describe(table.devices) + ")") +
        " of " + format_bytes(problem.cluster.memory_bytes) +
        " and this algorithm splits none: " + enough + ", or an algorithm that splits");
  }
  return SearchResult{std::move(pass.plan), 0, false};
}

}  // namespace

Result<SearchResult> shard_random(const Problem& problem, PlanEvaluator&,
                                  const SearchOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_whole_tables(problem));
  SearchResult result;
  result.plan.devices = problem.cluster.devices;
  Rng rng(options.seed);
  for (std::size_t index = 0; index < problem.workload.tables.size(); ++index) {
    const std::vector<std::int32_t>& allowed = problem.space.tables[index].devices.devices();
    const bool any = allowed.empty();
    const auto choices = any ? static_cast<std::size_t>(problem.cluster.devices) : allowed.size();
    const auto drawn = rng.below(choices);
    const std::int32_t device = any ? static_cast<std::int32_t>(drawn) : allowed[drawn];
    result.plan.shards.push_back(problem.space.whole_on(device, static_cast<std::int32_t>(index)));
  }
  const std::vector<std::int64_t> bytes =
      device_bytes(problem.workload, result.plan, problem.cluster.buffers);
  const auto fullest = std::max_element(bytes.begin(), bytes.end());
  const std::int64_t memory = problem.cluster.memory_bytes;
  if (*fullest <= memory) return result;
  if (const auto shortage = shortage_in_all(problem)) {
    return infeasible(shortage->blame + ": " + memory_would_do(*fullest));
  }
  return infeasible("random placement puts " + format_bytes_apart(*fullest, memory) +
                    " on device " + std::to_string(fullest - bytes.begin()) + ", devices have " +
                    format_bytes_apart(memory, *fullest) + ": " + memory_would_do(*fullest) +
                    ", or an algorithm that minds memory");
}

Result<SearchResult> shard_size_greedy(const Problem& problem, PlanEvaluator&,
                                       const SearchOptions&) {
  return shard_greedy(problem, by_size);
}

Result<SearchResult> shard_dim_greedy(const Problem& problem, PlanEvaluator&,
                                      const SearchOptions&) {
  return shard_greedy(problem, by_dim);
}

Result<SearchResult> shard_lookup_greedy(const Problem& problem, PlanEvaluator&,
                                         const SearchOptions&) {
  return shard_greedy(problem, by_lookup);
}

Result<SearchResult> shard_size_lookup_greedy(const Problem& problem, PlanEvaluator&,
                                              const SearchOptions&) {
  return shard_greedy(problem, by_size_lookup);
}

}  // namespace neuroshard::search
