#include <cmath>
#include <mutex>
#include <utility>

#include "cuda/check.h"
#include "cuda/device.h"
#include "cuda/matmul.h"
#include "cuda/training_backend.h"
#include "cuda/training_kernels.cuh"

namespace neuroshard::cuda {
namespace {

class TrainingBackend final : public nn::Backend {
 public:
  explicit TrainingBackend(std::unique_ptr<Matmul> matmul) : matmul_(std::move(matmul)) {}

  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] std::int64_t chunk_sets() const override { return std::int64_t{1} << 30; }

  [[nodiscard]] void* allocate(std::size_t bytes) const override {
    Result<void*> memory = cuda::allocate(bytes);
    return memory.ok() ? *memory : nullptr;
  }
  void release(void* memory) const override { cuda::release(memory); }
  void upload(void* to, const void* from, std::size_t bytes) const override {
    note(cuda::upload(to, from, bytes));
  }
  void download(void* to, const void* from, std::size_t bytes) const override {
    note(cuda::download(to, from, bytes));
  }
  void fill_zero(void* memory, std::size_t bytes) const override {
    note(cuda::fill_zero(memory, bytes));
  }
  Status synchronize() const override {
    note(cuda::synchronize());
    const std::lock_guard lock(mutex_);
    return std::exchange(first_error_, Status());
  }

  void run(const nn::GatherRows& op) const override {
    launch(gather_kernel, op.rows * op.width, op);
  }

  void run(const nn::DenseForward& op) const override {
    // Row-major y = x W^T is column-major y' = W x': [outputs, rows] = [outputs, inputs] [inputs,
    // rows], and the bias goes to the rows of y'.
    const bool relu = op.spec.activation == nn::Activation::kRelu;
    if (op.rows > 0 && op.spec.outputs > 1 &&
        matmul_->run({.m = op.spec.outputs,
                      .n = op.rows,
                      .k = op.spec.inputs,
                      .a = op.weight,
                      .transpose_a = true,
                      .b = op.x,
                      .d = op.y,
                      .epilogue = relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS,
                      .bias = op.bias})) {
      return;
    }
    launch(dense_kernel, op.rows * op.spec.outputs, op);
  }

  void run(const nn::DenseBackward& op) const override {
    // dW' [inputs, outputs] = x' dy'^T, and the bias gradient sums the columns of that right side.
    const bool fused = op.rows > 0 && op.mode == nn::GradMode::kOverwrite &&
                       matmul_->run({.m = op.spec.inputs,
                                     .n = op.spec.outputs,
                                     .k = op.rows,
                                     .a = op.x,
                                     .b = op.dy,
                                     .transpose_b = true,
                                     .d = op.dweight,
                                     .epilogue = CUBLASLT_EPILOGUE_BGRADB,
                                     .bias = op.dbias});
    if (!fused) {
      launch(weight_gradient_kernel, (std::int64_t{op.spec.inputs} + 1) * op.spec.outputs, op);
    }
    if (op.dx == nullptr) return;
    // dx' [inputs, rows] = W' dy'.
    if (op.rows > 0 && matmul_->run({.m = op.spec.inputs,
                                     .n = op.rows,
                                     .k = op.spec.outputs,
                                     .a = op.weight,
                                     .b = op.dy,
                                     .d = op.dx})) {
      if (op.x_activation != nn::Activation::kRelu) return;
      run(nn::ReluBackward{op.rows * op.spec.inputs, op.x, op.dx});
      return;
    }
    launch(input_gradient_kernel, op.rows * op.spec.inputs, op);
  }

  void run(const nn::ReluBackward& op) const override {
    launch(relu_backward_kernel, op.count, op);
  }
  void run(const nn::SegmentSum& op) const override {
    launch(segment_sum_kernel, op.segments * op.width, op);
  }
  void run(const nn::SegmentSumBackward& op) const override {
    launch(segment_sum_backward_kernel, op.segments * op.width, op);
  }
  void run(const nn::Loss& op) const override {
    loss_kernel<<<1, kTrainingThreads>>>(op);
    note_launch();
  }
  void run(const nn::Adam& op) const override {
    const auto step = static_cast<double>(op.step);
    launch(adam_kernel, op.count, op,
           static_cast<float>(1 / (1 - std::pow(double{op.beta1}, step))),
           static_cast<float>(1 / (1 - std::pow(double{op.beta2}, step))));
  }
  void run(const nn::MovingAverage& op) const override {
    launch(moving_average_kernel, op.count, op);
  }

 private:
  template <typename Kernel, typename... Arguments>
  void launch(Kernel kernel, std::int64_t threads, const Arguments&... arguments) const {
    if (threads <= 0) return;
    const auto blocks = static_cast<unsigned>((threads + kTrainingThreads - 1) / kTrainingThreads);
    kernel<<<blocks, kTrainingThreads>>>(arguments...);
    note_launch();
  }
  void note_launch() const {
    note(status_of(cudaGetLastError(), "kernel of the training backend", __FILE__, __LINE__));
  }
  /// Keeps the first error for `synchronize`.
  void note(const Status& status) const {
    if (status.ok()) return;
    const std::lock_guard lock(mutex_);
    if (first_error_.ok()) first_error_ = status;
  }

  std::unique_ptr<Matmul> matmul_;
  mutable std::mutex mutex_;
  mutable Status first_error_;
};

Result<const nn::Backend*> make_backend() {
  NEUROSHARD_RETURN_IF_ERROR(device_available());
  NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<Matmul> matmul, Matmul::create());
  // Never freed: at the end of the program the driver is gone before statics are.
  return static_cast<const nn::Backend*>(new TrainingBackend(std::move(matmul)));
}

}  // namespace

Result<const nn::Backend*> training_backend() {
  static const Result<const nn::Backend*> made = make_backend();
  return made;
}

}  // namespace neuroshard::cuda
