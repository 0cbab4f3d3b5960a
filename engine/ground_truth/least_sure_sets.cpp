#include "engine/ground_truth/least_sure_sets.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/core/bytes.h"
#include "engine/ground_truth/collect.h"
#include "engine/ground_truth/drawn_row_parts.h"
#include "engine/ground_truth/random_sets.h"
#include "engine/ground_truth/shard_pool.h"
#include "engine/training/evaluate.h"
#include "engine/training/inputs.h"
#include "engine/training/member_spread.h"
#include "io/benchmark/benchmark_json.h"
#include "io/cost_data/collection.h"

namespace neuroshard {
namespace {

using Ids = std::vector<std::int32_t>;

/// The largest dim of the tables, as a multiple that FBGEMM reads.
std::int32_t widest(const std::vector<Table>& tables) {
  std::int32_t dim = 0;
  for (const Table& table : tables) dim = std::max(dim, table.dim);
  return (dim + io::kFbgemmColumns - 1) / io::kFbgemmColumns * io::kFbgemmColumns;
}

/// As many as collect_compute() puts into a set.
std::int32_t most_shards() { return CollectOptions().max_tables; }

/// Different sets of pool entries. Errors: kInvalidInput where too few fit the memory.
Result<std::vector<io::ComputeSample>> draw_candidates(const std::vector<Table>& entries,
                                                       const LeastSureOptions& options) {
  const Status none = invalid_input(
      "found no sets of 1 to " + std::to_string(most_shards()) + " shards of these tables within " +
      format_bytes(options.max_memory_bytes) + ", expected more memory for a set");
  const Result<SetDraw> draw = SetDraw::make(entries, most_shards(), options.max_memory_bytes);
  if (!draw.ok()) return none;
  std::vector<io::ComputeSample> candidates;
  std::set<Ids> seen;
  for (std::int64_t number = 0; number < kCandidateSets; ++number) {
    Result<Ids> ids = draw->draw(options.seed, number);
    if (!ids.ok()) return none;
    std::sort(ids->begin(), ids->end());
    if (seen.insert(*ids).second) candidates.push_back({*std::move(ids), 0});
  }
  return candidates;
}

/// Takes entries of a pool over, with their tables, when a set has them first.
class BenchmarkPool {
 public:
  BenchmarkPool(const ShardPool& pool, std::size_t tables, io::SetBenchmark& benchmark)
      : pool_(pool), tables_(tables), benchmark_(benchmark) {}

  std::int32_t shard(std::int32_t id) {
    const auto [place, is_new] =
        shards_.try_emplace(id, static_cast<std::int32_t>(benchmark_.shards.size()));
    if (!is_new) return place->second;
    Workload own;
    std::vector<Shard> shards;
    pool_.add(id, own, shards);
    shards.front().table = table(static_cast<std::size_t>(id) % pool_.whole.size() % tables_);
    benchmark_.shards.push_back(shards.front());
    benchmark_.pool.push_back(pool_.entries[static_cast<std::size_t>(id)]);
    return place->second;
  }

 private:
  /// The table of the user's: at the widest dim, which comes first in the pool.
  std::int32_t table(std::size_t index) {
    std::vector<Table>& taken = benchmark_.workload.tables;
    const auto [place, is_new] =
        placed_.try_emplace(index, static_cast<std::int32_t>(taken.size()));
    if (is_new) taken.push_back(pool_.whole[index]);
    return place->second;
  }

  const ShardPool& pool_;
  std::size_t tables_;
  io::SetBenchmark& benchmark_;
  std::map<std::int32_t, std::int32_t> shards_;
  std::map<std::size_t, std::int32_t> placed_;
};

}  // namespace

Result<io::SetBenchmark> least_sure_sets(const NamedCostModels& models, const Workload& workload,
                                         const LeastSureOptions& options) {
  if (!models.models.compute) {
    return invalid_input(models.name + ": found no compute model, expected one of several members");
  }
  const ComputeModel& model = *models.models.compute;
  const std::int32_t max_dim = widest(workload.tables);
  NEUROSHARD_ASSIGN_OR_RETURN(ShardPool pool,
                              ShardPool::make(workload.tables, max_dim, model.row_parts));
  NEUROSHARD_RETURN_IF_ERROR(check_has_kernels(pool, workload.tables.size()));
  describe_drawn_row_parts(pool, workload.batch_size, options.seed);
  ComputeDataset candidates{pool.entries, {}, workload.batch_size, model.row_parts};
  NEUROSHARD_ASSIGN_OR_RETURN(candidates.samples, draw_candidates(pool.entries, options));
  if (std::ssize(candidates.samples) < options.sets) {
    return invalid_input("found " + std::to_string(candidates.samples.size()) +
                         " different sets of these tables, expected at least " +
                         std::to_string(options.sets) + " to choose");
  }
  Result<std::vector<double>> spread = member_spread(model, candidates);
  if (!spread.ok()) return spread.status().with_context(models.name);
  Ids order = all_ids(candidates.samples.size());
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return (*spread)[static_cast<std::size_t>(a)] > (*spread)[static_cast<std::size_t>(b)];
  });
  const auto median = static_cast<std::size_t>(order[order.size() / 2]);
  order.resize(static_cast<std::size_t>(options.sets));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> costs,
                              predict_compute(model, candidates, order));

  io::SetBenchmark benchmark;
  benchmark.workload.batch_size = workload.batch_size;
  benchmark.candidates = std::ssize(candidates.samples);
  benchmark.median_spread_ms = (*spread)[median];
  BenchmarkPool taken(pool, workload.tables.size(), benchmark);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto candidate = static_cast<std::size_t>(order[k]);
    io::SetBenchmark::Set& set = benchmark.sets.emplace_back();
    set.compute_ms = costs[k];
    set.spread_ms = (*spread)[candidate];
    for (const std::int32_t id : candidates.samples[candidate].tables) {
      set.shards.push_back(taken.shard(id));
    }
  }
  const ModelOrigin& origin = models.models.compute_origin;
  benchmark.seed = options.seed;
  benchmark.cost_model = models.name;
  benchmark.cost_hardware = hardware_of(origin);
  benchmark.cost_provenance = word_of(origin.provenance);
  benchmark.flags = {{"max-dim", std::to_string(max_dim)},
                     {"max-tables", std::to_string(most_shards())},
                     {"max-memory", std::to_string(options.max_memory_bytes)},
                     {"optimizer", std::string(to_string(workload.tables.front().optimizer))},
                     {"least-sure", std::to_string(options.sets)}};
  if (model.row_parts > 1) benchmark.flags[io::kRowPartsFlag] = std::to_string(model.row_parts);
  return benchmark;
}

}  // namespace neuroshard
