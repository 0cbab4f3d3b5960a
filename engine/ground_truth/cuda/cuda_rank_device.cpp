#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/lookup/embedding_bag.h"
#include "cuda/ranks/communicator.h"
#include "cuda/ranks/exchange_plan.h"
#include "cuda/timer.h"
#include "engine/ground_truth/cpu/timed_exchange.h"
#include "engine/ground_truth/cuda/clocks.h"
#include "engine/ground_truth/cuda/device_tables.h"
#include "engine/ground_truth/cuda/rank_device.h"
#include "engine/ground_truth/requests/request.h"

namespace neuroshard {
namespace {

/// The GPU waits this long before what is timed, so that the CPU has given it everything by then:
/// NCCL takes a call in the background, which takes tens of microseconds.
constexpr std::chrono::milliseconds kHeadStart{3};
constexpr std::chrono::seconds kStartLimit{60};
/// Within which all runs of one measurement have to be done.
constexpr std::chrono::seconds kRunLimit{120};

std::chrono::nanoseconds from_ms(double ms) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(ms * 1e6));
}

class CudaRankDevice final : public RankDevice {
 public:
  CudaRankDevice(const GroundTruthOptions& options, const cuda::DeviceInfo& info,
                 std::unique_ptr<cuda::Communicator> ranks,
                 std::unique_ptr<cuda::EmbeddingBag> lookup, std::unique_ptr<cuda::Timer> timer)
      : options_(options),
        hardware_(info.name + ", CUDA " + info.driver),
        ranks_(std::move(ranks)),
        tables_(options.seed, info.memory_bytes / 4),
        lookup_(std::move(lookup)),
        timer_(std::move(timer)) {}

  [[nodiscard]] const std::string& hardware() const override { return hardware_; }
  [[nodiscard]] std::string conditions() const override { return describe_clocks(); }

  Result<ExchangeTime> measure_exchange(std::span<const std::int64_t> dims,
                                        std::span<const double> starts_ms,
                                        std::int64_t batch_size) override;
  Result<StepTime> measure_step(const Workload& workload, std::span<const Shard> own,
                                std::span<const std::int64_t> dims) override;

 private:
  using Times = std::vector<std::vector<double>>;
  using Steps = std::vector<std::function<Status()>>;

  /// Memory of an exchange: our columns of the whole batch, and all columns of our samples.
  Status reserve(std::span<const std::int64_t> dims, std::int64_t batch_size);
  /// All ranks start together, each as much later as `start` says.
  Status start_together(std::chrono::nanoseconds start);
  Result<Times> time(const Steps& steps, std::function<Status()> before);
  [[nodiscard]] Status forward_exchange(std::span<const std::int64_t> dims, std::int64_t batch) {
    NEUROSHARD_RETURN_IF_ERROR(ranks_->exchange_forward(dims, batch, pooled_, local_));
    return ranks_->join();
  }
  [[nodiscard]] Status backward_exchange(std::span<const std::int64_t> dims, std::int64_t batch) {
    NEUROSHARD_RETURN_IF_ERROR(ranks_->exchange_backward(dims, batch, local_, pooled_));
    return ranks_->join();
  }
  [[nodiscard]] Status barrier() {
    NEUROSHARD_RETURN_IF_ERROR(ranks_->barrier());
    return ranks_->join();
  }

  GroundTruthOptions options_;
  std::string hardware_;
  std::unique_ptr<cuda::Communicator> ranks_;
  DeviceTables tables_;
  std::unique_ptr<cuda::EmbeddingBag> lookup_;
  std::unique_ptr<cuda::Timer> timer_;
  DeviceArena pooled_memory_{DataType::kFp32, false};
  DeviceArena local_memory_{DataType::kFp32, false};
  float* pooled_ = nullptr;
  float* local_ = nullptr;
};

Status CudaRankDevice::reserve(std::span<const std::int64_t> dims, std::int64_t batch_size) {
  NEUROSHARD_ASSIGN_OR_RETURN(const cuda::ExchangePlan plan,
                              cuda::plan_exchange(dims, batch_size, ranks_->rank()));
  const std::int64_t own = dims[static_cast<std::size_t>(ranks_->rank())];
  NEUROSHARD_ASSIGN_OR_RETURN(std::byte* const pooled, pooled_memory_.take(batch_size * own * 4));
  NEUROSHARD_ASSIGN_OR_RETURN(std::byte* const local,
                              local_memory_.take(plan.samples * plan.columns * 4));
  pooled_ = reinterpret_cast<float*>(pooled);
  local_ = reinterpret_cast<float*>(local);
  return {};
}

Status CudaRankDevice::start_together(std::chrono::nanoseconds start) {
  NEUROSHARD_RETURN_IF_ERROR(barrier());
  return cuda::delay(kHeadStart + start);
}

Result<CudaRankDevice::Times> CudaRankDevice::time(const Steps& steps,
                                                   std::function<Status()> before) {
  // A rank that dies would leave the GPU waiting: wait() gives up then, and frees it.
  return timer_->time(steps, options_.warmup_runs, options_.timed_runs,
                      {std::move(before), [&] { return ranks_->wait(kRunLimit); }});
}

Result<RankDevice::ExchangeTime> CudaRankDevice::measure_exchange(
    std::span<const std::int64_t> dims, std::span<const double> starts_ms,
    std::int64_t batch_size) {
  NEUROSHARD_RETURN_IF_ERROR(reserve(dims, batch_size));
  const auto start = from_ms(starts_ms[static_cast<std::size_t>(ranks_->rank())]);
  NEUROSHARD_ASSIGN_OR_RETURN(Times forward,
                              time({[&] {
                                     NEUROSHARD_RETURN_IF_ERROR(forward_exchange(dims, batch_size));
                                     return barrier();
                                   }},
                                   [&] { return start_together(start); }));
  NEUROSHARD_ASSIGN_OR_RETURN(Times backward,
                              time({[&] { return backward_exchange(dims, batch_size); }},
                                   [&] { return start_together(std::chrono::nanoseconds(0)); }));
  return ExchangeTime{median(std::move(forward[0])), median(std::move(backward[0]))};
}

Result<RankDevice::StepTime> CudaRankDevice::measure_step(const Workload& workload,
                                                          std::span<const Shard> own,
                                                          std::span<const std::int64_t> dims) {
  NEUROSHARD_RETURN_IF_ERROR(check_shards(workload, own, options_.max_memory_bytes));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<cuda::BagTable> tables,
                              tables_.place(workload, own));
  const std::int64_t batch = workload.batch_size;
  NEUROSHARD_RETURN_IF_ERROR(lookup_->prepare(tables, batch, {}));
  NEUROSHARD_RETURN_IF_ERROR(reserve(dims, batch));
  NEUROSHARD_RETURN_IF_ERROR(barrier());  // the first step of all begins together
  NEUROSHARD_ASSIGN_OR_RETURN(Times times, time({[&] { return lookup_->forward(pooled_); },
                                                 [&] { return forward_exchange(dims, batch); },
                                                 [&] { return backward_exchange(dims, batch); },
                                                 [&] { return lookup_->backward(pooled_); }},
                                                [] { return cuda::delay(kHeadStart); }));
  std::vector<double> compute;
  for (std::size_t run = 0; run < times[0].size(); ++run) {
    compute.push_back(times[0][run] + times[3][run]);
  }
  return StepTime{median(std::move(times[0])), median(std::move(times[1])),
                  median(std::move(times[2])), median(std::move(times[3])),
                  median(std::move(compute))};
}

}  // namespace

Result<std::unique_ptr<RankDevice>> make_cuda_rank_device(cuda::Rendezvous& group,
                                                          const GroundTruthOptions& options) {
  // First, because it chooses this process's GPU.
  NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<cuda::Communicator> ranks,
                              cuda::make_communicator(group, kStartLimit));
  NEUROSHARD_ASSIGN_OR_RETURN(const cuda::DeviceInfo info, cuda::device_info());
  NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<cuda::EmbeddingBag> lookup,
                              cuda::make_embedding_bag());
  NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<cuda::Timer> timer, cuda::make_timer());
  return std::unique_ptr<RankDevice>(std::make_unique<CudaRankDevice>(
      options, info, std::move(ranks), std::move(lookup), std::move(timer)));
}

}  // namespace neuroshard
