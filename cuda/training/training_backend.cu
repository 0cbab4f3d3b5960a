#include <cuda_runtime.h>

#include <mutex>
#include <utility>

#include "cuda/check.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/training/issuer.h"
#include "cuda/training/op_list.h"
#include "cuda/training/replay_cache.h"
#include "cuda/training/staging.h"
#include "cuda/training/training_backend.h"

namespace neuroshard::cuda {
namespace {

/// Members of a batch come in multiples of this: a batch of 512 sets has 3 or 4 shapes, at the
/// price of 3 % more rows.
constexpr std::int64_t kRowMultiple = 256;

/// A step in executable form; freed with the object. Move-only.
class Graph {
 public:
  Graph() = default;
  explicit Graph(cudaGraphExec_t graph) : graph_(graph) {}
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~Graph() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  [[nodiscard]] cudaGraphExec_t get() const { return graph_; }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

class GpuTrainingBackend final : public TrainingBackend {
 public:
  GpuTrainingBackend(const TrainingOptions& options, cudaStream_t stream,
                     std::unique_ptr<Issuer> issuer)
      : options_(options), stream_(stream), issuer_(std::move(issuer)) {}
  ~GpuTrainingBackend() override {
    cudaStreamSynchronize(stream_);
    graphs_.clear();
    issuer_.reset();
    cudaStreamDestroy(stream_);
  }

  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] std::int64_t chunk_sets() const override { return std::int64_t{1} << 30; }
  [[nodiscard]] std::int64_t row_multiple() const override { return kRowMultiple; }
  [[nodiscard]] TrainingCounts counts() const override {
    const std::lock_guard lock(mutex_);
    TrainingCounts counts = counts_;
    counts.products = issuer_->products();
    return counts;
  }

  [[nodiscard]] void* allocate(std::size_t bytes) const override {
    Result<void*> memory = cuda::allocate(bytes);
    return memory.ok() ? *memory : nullptr;
  }
  void release(void* memory) const override {
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    flush();
    note(status_of(cudaStreamSynchronize(stream_), "release", __FILE__, __LINE__));
    graphs_.clear();  // one of them may use it
    issuer_->forget(memory);
    cuda::release(memory);
  }
  void upload(void* to, const void* from, std::size_t bytes) const override {
    const std::lock_guard lock(mutex_);
    flush_list();
    note(staging_.copy(to, from, bytes, stream_));
  }
  void download(void* to, const void* from, std::size_t bytes) const override {
    const std::lock_guard lock(mutex_);
    flush();
    if (bytes == 0) return;
    note(status_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "download",
                   __FILE__, __LINE__));
  }
  void fill_zero(void* memory, std::size_t bytes) const override {
    const std::lock_guard lock(mutex_);
    flush();
    if (bytes == 0) return;
    note(status_of(cudaMemsetAsync(memory, 0, bytes, stream_), "fill_zero", __FILE__, __LINE__));
  }
  Status synchronize() const override {
    const std::lock_guard lock(mutex_);
    flush();
    note(status_of(cudaStreamSynchronize(stream_), "synchronize", __FILE__, __LINE__));
    return std::exchange(first_error_, Status());
  }

  void run(const nn::GatherRows& op) const override { add(op); }
  void run(const nn::DenseForward& op) const override { add(op); }
  void run(const nn::DenseBackward& op) const override { add(op); }
  void run(const nn::ReluBackward& op) const override { add(op); }
  void run(const nn::SegmentSum& op) const override { add(op); }
  void run(const nn::SegmentSumBackward& op) const override { add(op); }
  void run(const nn::Loss& op) const override { add(op); }
  void run(const nn::Adam& op) const override { add(op); }
  void run(const nn::MovingAverage& op) const override { add(op); }

 private:
  // What follows: with mutex_ held.

  void add(const TrainingOp& op) const {
    constexpr std::size_t kMostOps = 1024;  // who never waits still gets work done
    const std::lock_guard lock(mutex_);
    list_.add(op);
    if (list_.ops().size() == kMostOps) flush();
  }
  /// Gives everything to the GPU that it has not got yet.
  void flush() const {
    flush_list();
    note(staging_.send(stream_));
  }
  /// The list, and before it what was uploaded for it.
  void flush_list() const {
    if (list_.empty()) return;
    const Turn turn =
        options_.graphs && list_.replayable() ? graphs_.next(list_.key()) : Turn::kIssue;
    const bool ready = turn == Turn::kReplay || (turn == Turn::kCapture && capture(list_.key()));
    note(ready ? replay() : issue());
    counts_.replayed += turn == Turn::kReplay ? 1 : 0;
    list_.clear();
  }
  Status issue() const {
    ++counts_.issued;
    NEUROSHARD_RETURN_IF_ERROR(staging_.send(stream_));
    const Status status = issuer_->issue(list_, false);
    if (issuer_->take_moved()) graphs_.clear();
    return status;
  }
  Status replay() const {
    if (const auto scalars = list_.scalars(0, list_.ops().size())) {
      NEUROSHARD_RETURN_IF_ERROR(
          staging_.copy(issuer_->scalars(), &*scalars, sizeof *scalars, stream_));
    }
    NEUROSHARD_RETURN_IF_ERROR(staging_.send(stream_));
    return status_of(cudaGraphLaunch(graphs_.at(list_.key()).get(), stream_), "graph launch",
                     __FILE__, __LINE__);
  }
  /// Whether the list is a graph now. Nothing has run then, nor when it has failed.
  bool capture(const std::vector<std::uint64_t>& key) const {
    cudaGraph_t recorded = nullptr;
    cudaGraphExec_t made = nullptr;
    bool good = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
    if (good) {
      const Status issued = issuer_->issue(list_, true);
      good = cudaStreamEndCapture(stream_, &recorded) == cudaSuccess && issued.ok() &&
             cudaGraphInstantiate(&made, recorded, 0) == cudaSuccess;
    }
    if (recorded != nullptr) cudaGraphDestroy(recorded);
    if (good) {
      graphs_.keep(key, Graph(made));
      ++counts_.captured;
      return true;
    }
    cudaGetLastError();  // it is no error of the work
    graphs_.give_up(key);
    ++counts_.refused;
    return false;
  }
  /// Keeps the first error for `synchronize`.
  void note(const Status& status) const {
    if (!status.ok() && first_error_.ok()) first_error_ = status;
  }

  TrainingOptions options_;
  cudaStream_t stream_;
  mutable std::mutex mutex_;  ///< guards what follows
  mutable std::unique_ptr<Issuer> issuer_;
  mutable Staging staging_;
  mutable OpList list_;
  mutable ReplayCache<Graph> graphs_;
  mutable TrainingCounts counts_;
  mutable Status first_error_;
};

}  // namespace

Result<std::unique_ptr<TrainingBackend>> make_training_backend(const TrainingOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(device_available());
  cudaStream_t stream = nullptr;
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Result<std::unique_ptr<Issuer>> issuer = Issuer::create(stream);
  if (!issuer.ok()) {
    cudaStreamDestroy(stream);
    return issuer.status();
  }
  return std::unique_ptr<TrainingBackend>(
      std::make_unique<GpuTrainingBackend>(options, stream, std::move(*issuer)));
}

Result<const nn::Backend*> training_backend() {
  // Never freed: at the end of the program the driver is gone before statics are.
  static const Result<const nn::Backend*> made = []() -> Result<const nn::Backend*> {
    NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<TrainingBackend> backend,
                                make_training_backend({}));
    return static_cast<const nn::Backend*>(backend.release());
  }();
  return made;
}

}  // namespace neuroshard::cuda
