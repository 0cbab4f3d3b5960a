#include "engine/ground_truth/cuda/cuda_ground_truth.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/embedding_bag.h"
#include "cuda/memory.h"
#include "cuda/timer.h"
#include "engine/core/bytes.h"
#include "engine/ground_truth/cpu/timed_exchange.h"
#include "engine/ground_truth/cuda/stream_pool.h"
#include "engine/ground_truth/request.h"

namespace neuroshard {
namespace {

/// Weights of a table begin on a multiple of this, as an allocation of their own would.
constexpr std::int64_t kAlignment = 256;
/// Lookups of one measurement: the sort needs about 20 bytes for each.
constexpr double kMaxLookups = 2e9;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Memory that grows to what the largest measurement needs and keeps its small random values.
class Arena {
 public:
  Arena(DataType type, bool zero) : type_(type), zero_(zero) {}

  Result<std::byte*> take(std::int64_t bytes) {
    const auto wanted = static_cast<std::size_t>(bytes);
    if (wanted > memory_.capacity()) {
      NEUROSHARD_RETURN_IF_ERROR(memory_.reserve(wanted + wanted / 4));
      const std::size_t all = memory_.capacity();
      NEUROSHARD_RETURN_IF_ERROR(
          zero_ ? memory_.zero(all)
                : cuda::fill_small_values(memory_.data(),
                                          all / static_cast<std::size_t>(bytes_per_element(type_)),
                                          type_));
    }
    return memory_.data();
  }

 private:
  DataType type_;
  bool zero_;
  cuda::Buffer<std::byte> memory_;
};

class CudaGroundTruth final : public GroundTruth {
 public:
  CudaGroundTruth(const GroundTruthOptions& options, const cuda::DeviceInfo& info,
                  std::unique_ptr<cuda::EmbeddingBag> lookup, std::unique_ptr<cuda::Timer> timer)
      : options_(options),
        hardware_(info.name + ", CUDA " + info.driver),
        streams_(options.seed, info.memory_bytes / 4),
        lookup_(std::move(lookup)),
        timer_(std::move(timer)) {}

  [[nodiscard]] io::Backend backend() const override { return io::Backend::kCuda; }
  [[nodiscard]] const std::string& hardware() const override { return hardware_; }
  [[nodiscard]] const std::string& profile() const override { return profile_; }

  [[nodiscard]] std::string conditions() const override {
    const Result<cuda::DeviceClocks> clocks = cuda::device_clocks();
    if (!clocks.ok()) return clocks.status().message();
    return "SM " + std::to_string(clocks->sm_mhz) + " MHz, memory " +
           std::to_string(clocks->memory_mhz) + " MHz, " + std::to_string(clocks->temperature_c) +
           " C";
  }

  Result<ComputeTime> measure_compute(const Workload& workload,
                                      std::span<const Shard> shards) override {
    NEUROSHARD_RETURN_IF_ERROR(check_memory(workload, shards, options_.max_memory_bytes));
    NEUROSHARD_RETURN_IF_ERROR(check_lookups(workload, shards));
    streams_.trim();
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<cuda::BagTable> tables, carve(workload, shards));
    NEUROSHARD_RETURN_IF_ERROR(lookup_->prepare(tables, workload.batch_size, {}));
    const std::int64_t bytes = workload.batch_size * lookup_->columns() * 4;
    NEUROSHARD_ASSIGN_OR_RETURN(std::byte* const out, outputs_.take(bytes));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::byte* const gradient, gradients_.take(bytes));
    NEUROSHARD_ASSIGN_OR_RETURN(
        auto times,
        timer_->time({[&] { return lookup_->forward(reinterpret_cast<float*>(out)); },
                      [&] { return lookup_->backward(reinterpret_cast<const float*>(gradient)); }},
                     options_.warmup_runs, options_.timed_runs));
    return ComputeTime{median(std::move(times[2])), median(std::move(times[0])),
                       median(std::move(times[1]))};
  }

  Result<CommTime> measure_all_to_all(std::span<const std::int64_t>, std::span<const double>,
                                      std::int64_t) override {
    return unavailable("backend cuda: this process has one GPU and cannot measure an all-to-all");
  }

 private:
  static Status check_lookups(const Workload& workload, std::span<const Shard> shards);
  Result<std::vector<cuda::BagTable>> carve(const Workload& workload,
                                            std::span<const Shard> shards);

  GroundTruthOptions options_;
  std::string hardware_;
  std::string profile_;
  StreamPool streams_;
  std::unique_ptr<cuda::EmbeddingBag> lookup_;
  std::unique_ptr<cuda::Timer> timer_;
  std::array<Arena, 2> weights_{Arena{DataType::kFp32, false}, Arena{DataType::kFp16, false}};
  Arena states_{DataType::kFp32, true};
  Arena outputs_{DataType::kFp32, true};
  Arena gradients_{DataType::kFp32, false};
};

Status CudaGroundTruth::check_lookups(const Workload& workload, std::span<const Shard> shards) {
  double lookups = 0;
  for (const Shard& shard : shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    lookups += table.pooling_factor * static_cast<double>(workload.batch_size);
  }
  if (lookups <= kMaxLookups) return {};
  return invalid_input("a batch of " + std::to_string(workload.batch_size) +
                       " samples is too large to be measured on this backend");
}

Result<std::vector<cuda::BagTable>> CudaGroundTruth::carve(const Workload& workload,
                                                           std::span<const Shard> shards) {
  std::array<std::int64_t, 2> weight_bytes{};
  std::int64_t state_bytes = 0;
  std::vector<cuda::BagTable> tables;
  tables.reserve(shards.size());
  // Places first, pointers when the arenas have their size.
  for (const Shard& shard : shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    NEUROSHARD_ASSIGN_OR_RETURN(const cuda::DeviceStream* const stream,
                                streams_.find(table, shard, workload.batch_size));
    cuda::BagTable bag;
    bag.rows = shard.rows();
    bag.dim = shard.dim();
    bag.data_type = table.data_type;
    bag.optimizer = table.optimizer;
    bag.indices = stream->indices.data();
    bag.offsets = stream->offsets.data();
    bag.lookups = stream->lookups;
    tables.push_back(bag);
    weight_bytes[static_cast<std::size_t>(table.data_type)] +=
        aligned(shard.rows() * shard.dim() * bytes_per_element(table.data_type));
    if (table.optimizer == Optimizer::kRowwiseAdagrad) state_bytes += aligned(shard.rows() * 4);
  }
  std::array<std::byte*, 2> next_weights{};
  for (std::size_t type = 0; type < next_weights.size(); ++type) {
    NEUROSHARD_ASSIGN_OR_RETURN(next_weights[type], weights_[type].take(weight_bytes[type]));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(std::byte * next_state, states_.take(state_bytes));
  for (cuda::BagTable& bag : tables) {
    std::byte*& next = next_weights[static_cast<std::size_t>(bag.data_type)];
    bag.weights = next;
    next += aligned(bag.rows * bag.dim * bytes_per_element(bag.data_type));
    if (bag.optimizer != Optimizer::kRowwiseAdagrad) continue;
    bag.state = reinterpret_cast<float*>(next_state);
    next_state += aligned(bag.rows * 4);
  }
  return tables;
}

}  // namespace

Result<std::unique_ptr<GroundTruth>> make_cuda_ground_truth(const GroundTruthOptions& options) {
  if (options.warmup_runs < 0 || options.timed_runs < 1 || options.max_memory_bytes < 0) {
    return invalid_input("warm-up runs " + std::to_string(options.warmup_runs) + ", timed runs " +
                         std::to_string(options.timed_runs) + ", memory " +
                         std::to_string(options.max_memory_bytes) +
                         " bytes: expected at least 0, 1 and 0");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const cuda::DeviceInfo info, cuda::device_info());
  if (options.max_memory_bytes > info.memory_bytes) {
    return invalid_input("max-memory: found " + format_bytes(options.max_memory_bytes) +
                         ", expected at most the " + format_bytes(info.memory_bytes) + " of " +
                         info.name);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<cuda::EmbeddingBag> lookup,
                              cuda::make_embedding_bag());
  NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<cuda::Timer> timer, cuda::make_timer());
  return std::unique_ptr<GroundTruth>(
      std::make_unique<CudaGroundTruth>(options, info, std::move(lookup), std::move(timer)));
}

}  // namespace neuroshard
