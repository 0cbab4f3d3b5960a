#include "engine/ground_truth/cpu/cpu_ground_truth.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/core/thread_pool.h"
#include "engine/ground_truth/cpu/arena.h"
#include "engine/ground_truth/cpu/cache_flush.h"
#include "engine/ground_truth/cpu/fused_lookup.h"
#include "engine/ground_truth/cpu/host_memory.h"
#include "engine/ground_truth/cpu/lookup_kernels.h"
#include "engine/ground_truth/cpu/timed_exchange.h"
#include "engine/ground_truth/requests/request.h"
#include "nn/isa.h"

namespace neuroshard {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::int64_t kMaxShards = 65536;
/// Lookups of one measurement.
constexpr std::int64_t kMaxLookups = std::int64_t{1} << 30;
constexpr std::int64_t kBytesPerLookup = 32;
/// Floats of one exchange's buffers or of a lookup's output: 64 GiB of addresses.
constexpr std::int64_t kMaxBatchFloats = std::int64_t{1} << 34;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

/// Range of rows of one table; whole tables and column shards of it share a stream.
using StreamKey = std::tuple<std::int32_t, std::int64_t, std::int64_t>;

class CpuGroundTruth final : public GroundTruth {
 public:
  CpuGroundTruth(const GroundTruthOptions& options, nn::Isa isa, Arena weights, Arena states,
                 Arena outputs, Arena gradients)
      : options_(options),
        kernels_(lookup_kernels(isa)),
        pool_(options.threads),
        weights_(std::move(weights)),
        states_(std::move(states)),
        outputs_(std::move(outputs)),
        gradients_(std::move(gradients)),
        hardware_(processor_name() + ", " + std::to_string(pool_.size()) +
                  (pool_.size() == 1 ? " thread, " : " threads, ") +
                  std::string(nn::to_string(isa))) {}

  [[nodiscard]] io::Backend backend() const override { return io::Backend::kCpu; }
  [[nodiscard]] std::optional<std::uint64_t> lookup_seed() const override { return options_.seed; }
  [[nodiscard]] const std::string& hardware() const override { return hardware_; }
  [[nodiscard]] const std::string& profile() const override { return profile_; }

  Result<ComputeTime> measure_compute(const Workload& workload,
                                      std::span<const Shard> shards) override {
    NEUROSHARD_RETURN_IF_ERROR(check_compute(workload, shards));
    const std::map<StreamKey, IndexStream> streams = make_streams(workload, shards);
    NEUROSHARD_ASSIGN_OR_RETURN(std::vector<LookupShard> carved, carve(workload, shards, streams));
    FusedLookup lookup(std::move(carved), workload.batch_size, kernels_);
    const std::int64_t values = workload.batch_size * lookup.columns();
    NEUROSHARD_ASSIGN_OR_RETURN(float* out, outputs_.take(values, "results", pool_, true));
    NEUROSHARD_ASSIGN_OR_RETURN(const float* gradient, gradients_.take(values, "gradients", pool_));
    return time_lookup(lookup, out, gradient);
  }

  Result<CommTime> measure_all_to_all(std::span<const std::int64_t> dims,
                                      std::span<const double> starts_ms,
                                      std::int64_t batch_size) override;

 private:
  Status check_compute(const Workload& workload, std::span<const Shard> shards) const;
  std::map<StreamKey, IndexStream> make_streams(const Workload& workload,
                                                std::span<const Shard> shards);
  Result<std::vector<LookupShard>> carve(const Workload& workload, std::span<const Shard> shards,
                                         const std::map<StreamKey, IndexStream>& streams);
  ComputeTime time_lookup(FusedLookup& lookup, float* out, const float* gradient);

  GroundTruthOptions options_;
  const LookupKernels& kernels_;
  ThreadPool pool_;
  CacheFlush caches_;
  Arena weights_;
  Arena states_;
  Arena outputs_;    ///< pooled embeddings; in an exchange, also the gradients that come back
  Arena gradients_;  ///< gradients; in an exchange, the samples a rank keeps
  std::string hardware_;
  std::string profile_;
};

Status CpuGroundTruth::check_compute(const Workload& workload,
                                     std::span<const Shard> shards) const {
  NEUROSHARD_RETURN_IF_ERROR(check_shards(workload, shards, options_.max_memory_bytes));
  if (static_cast<std::int64_t>(shards.size()) > kMaxShards) {
    return invalid_input(std::to_string(shards.size()) +
                         " shards in one lookup, expected at most " + std::to_string(kMaxShards));
  }
  double lookups = 0;
  double values = 0;
  const auto batch = static_cast<double>(workload.batch_size);
  for (const Shard& shard : shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    if (table.data_type != DataType::kFp32) {
      return unavailable("backend cpu: table '" + table.name + "' is " +
                         std::string(to_string(table.data_type)) + ", its kernels are fp32 only");
    }
    lookups += table.pooling_factor * batch;
    values += static_cast<double>(shard.dim()) * batch;
    if (!RowSort::packs(shard.rows(), workload.batch_size)) lookups = INFINITY;
  }
  if (lookups <= static_cast<double>(kMaxLookups) &&
      values + batch <= static_cast<double>(kMaxBatchFloats)) {
    return check_available(static_cast<std::int64_t>(lookups) * kBytesPerLookup, "lookups");
  }
  return invalid_input("a batch of " + std::to_string(workload.batch_size) +
                       " samples is too large to be measured on this backend");
}

std::map<StreamKey, IndexStream> CpuGroundTruth::make_streams(const Workload& workload,
                                                              std::span<const Shard> shards) {
  // Whole tables first, each by one thread; row ranges are then cut out of them.
  std::map<std::int32_t, IndexStream> tables;
  std::map<StreamKey, IndexStream> streams;
  for (const Shard& shard : shards) {
    tables.try_emplace(shard.table);
    streams.try_emplace({shard.table, shard.row_begin, shard.row_end});
  }
  std::vector<std::pair<const std::int32_t, IndexStream>*> table_list;
  for (auto& entry : tables) table_list.push_back(&entry);
  pool_.parallel_for(static_cast<std::int64_t>(table_list.size()), [&](std::int64_t i, int) {
    auto& [table, stream] = *table_list[static_cast<std::size_t>(i)];
    stream = make_index_stream(workload.tables[static_cast<std::size_t>(table)],
                               workload.batch_size, options_.seed);
  });
  std::vector<std::pair<IndexStream*, std::int32_t>> whole;
  for (auto& [key, stream] : streams) {
    const auto& [table, begin, end] = key;
    if (end - begin == workload.tables[static_cast<std::size_t>(table)].rows) {
      whole.emplace_back(&stream, table);
    } else {
      stream = restrict_rows(tables[table], begin, end);
    }
  }
  for (const auto& [stream, table] : whole) *stream = std::move(tables[table]);
  return streams;
}

Result<std::vector<LookupShard>> CpuGroundTruth::carve(
    const Workload& workload, std::span<const Shard> shards,
    const std::map<StreamKey, IndexStream>& streams) {
  std::int64_t weights = 0;
  std::int64_t states = 0;
  for (const Shard& shard : shards) {
    weights += whole_lines(shard.rows() * shard.dim());
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    if (table.optimizer == Optimizer::kRowwiseAdagrad) states += whole_lines(shard.rows());
  }
  NEUROSHARD_ASSIGN_OR_RETURN(float* next_weights, weights_.take(weights, "weights", pool_));
  NEUROSHARD_ASSIGN_OR_RETURN(float* next_state,
                              states_.take(states, "optimizer states", pool_, true));
  std::vector<LookupShard> carved;
  carved.reserve(shards.size());
  for (const Shard& shard : shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    LookupShard one{&streams.at({shard.table, shard.row_begin, shard.row_end}),
                    shard.rows(),
                    shard.dim(),
                    next_weights,
                    nullptr,
                    table.optimizer};
    next_weights += whole_lines(shard.rows() * shard.dim());
    if (table.optimizer == Optimizer::kRowwiseAdagrad) {
      one.state = next_state;
      next_state += whole_lines(shard.rows());
    }
    carved.push_back(one);
  }
  return carved;
}

ComputeTime CpuGroundTruth::time_lookup(FusedLookup& lookup, float* out, const float* gradient) {
  std::vector<double> total;
  std::vector<double> forward;
  std::vector<double> backward;
  for (int run = 0; run < options_.warmup_runs + options_.timed_runs; ++run) {
    caches_.flush(pool_);
    const Clock::time_point start = Clock::now();
    lookup.forward(pool_, out);
    const Clock::time_point middle = Clock::now();
    lookup.backward(pool_, gradient);
    const Clock::time_point end = Clock::now();
    if (run < options_.warmup_runs) continue;
    forward.push_back(Milliseconds(middle - start).count());
    backward.push_back(Milliseconds(end - middle).count());
    total.push_back(Milliseconds(end - start).count());
  }
  return {median(std::move(total)), median(std::move(forward)), median(std::move(backward))};
}

Result<CommTime> CpuGroundTruth::measure_all_to_all(std::span<const std::int64_t> dims,
                                                    std::span<const double> starts_ms,
                                                    std::int64_t batch_size) {
  NEUROSHARD_RETURN_IF_ERROR(check_exchange(dims, starts_ms, batch_size));
  double columns = 0;
  for (const std::int64_t dim : dims) columns += static_cast<double>(dim) + kFloatsPerLine;
  constexpr std::size_t kMaxRanks = 1024;
  if (dims.size() > kMaxRanks ||
      columns * static_cast<double>(batch_size) > static_cast<double>(kMaxBatchFloats)) {
    return invalid_input("an all-to-all of " + std::to_string(dims.size()) +
                         " ranks with a batch of " + std::to_string(batch_size) +
                         " samples is too large to be measured on this backend");
  }
  return measure_exchange(dims, starts_ms, batch_size, {options_.warmup_runs, options_.timed_runs},
                          {outputs_, gradients_}, caches_, pool_);
}

}  // namespace

Result<std::unique_ptr<GroundTruth>> make_cpu_ground_truth(const GroundTruthOptions& options) {
  if (options.warmup_runs < 0 || options.timed_runs < 1 || options.threads < 0 ||
      options.max_memory_bytes < 0) {
    return invalid_input("warm-up runs " + std::to_string(options.warmup_runs) + ", timed runs " +
                         std::to_string(options.timed_runs) + ", threads " +
                         std::to_string(options.threads) + ", memory " +
                         std::to_string(options.max_memory_bytes) +
                         " bytes: expected at least 0, 1, 0 and 0");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Isa isa, nn::select_isa());
  const std::int64_t floats = options.max_memory_bytes / 4 + kMaxShards * kFloatsPerLine;
  NEUROSHARD_ASSIGN_OR_RETURN(Arena weights, Arena::reserve(floats));
  NEUROSHARD_ASSIGN_OR_RETURN(Arena states, Arena::reserve(floats));
  NEUROSHARD_ASSIGN_OR_RETURN(Arena outputs, Arena::reserve(kMaxBatchFloats));
  NEUROSHARD_ASSIGN_OR_RETURN(Arena gradients, Arena::reserve(kMaxBatchFloats));
  return std::unique_ptr<GroundTruth>(
      std::make_unique<CpuGroundTruth>(options, isa, std::move(weights), std::move(states),
                                       std::move(outputs), std::move(gradients)));
}

}  // namespace neuroshard
