#include "engine/ground_truth/cuda/cuda_ground_truth.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/lookup/embedding_bag.h"
#include "cuda/timer.h"
#include "engine/core/bytes.h"
#include "engine/ground_truth/cpu/timed_exchange.h"
#include "engine/ground_truth/cuda/clocks.h"
#include "engine/ground_truth/cuda/device_tables.h"
#include "engine/ground_truth/requests/request.h"

namespace neuroshard {
namespace {

class CudaGroundTruth final : public GroundTruth {
 public:
  CudaGroundTruth(const GroundTruthOptions& options, const cuda::DeviceInfo& info,
                  std::unique_ptr<cuda::EmbeddingBag> lookup, std::unique_ptr<cuda::Timer> timer)
      : options_(options),
        hardware_(info.name + ", CUDA " + info.driver),
        tables_(options.seed, info.memory_bytes / 4),
        lookup_(std::move(lookup)),
        timer_(std::move(timer)) {}

  [[nodiscard]] io::Backend backend() const override { return io::Backend::kCuda; }
  [[nodiscard]] std::optional<std::uint64_t> lookup_seed() const override { return options_.seed; }
  [[nodiscard]] const std::string& hardware() const override { return hardware_; }
  [[nodiscard]] const std::string& profile() const override { return profile_; }

  [[nodiscard]] std::string conditions() const override { return describe_clocks(); }

  Result<ComputeTime> measure_compute(const Workload& workload,
                                      std::span<const Shard> shards) override {
    NEUROSHARD_RETURN_IF_ERROR(check_shards(workload, shards, options_.max_memory_bytes));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<cuda::BagTable> tables,
                                tables_.place(workload, shards));
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
  GroundTruthOptions options_;
  std::string hardware_;
  std::string profile_;
  DeviceTables tables_;
  std::unique_ptr<cuda::EmbeddingBag> lookup_;
  std::unique_ptr<cuda::Timer> timer_;
  DeviceArena outputs_{DataType::kFp32, true};
  DeviceArena gradients_{DataType::kFp32, false};
};

}  // namespace

std::string name_of_gpu() {
  const Result<cuda::DeviceInfo> info = cuda::device_info();
  return info.ok() ? info->name : "";
}

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
