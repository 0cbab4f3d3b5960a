#pragma once

// For CUDA sources only.

#include <cuda_runtime.h>

#include <map>
#include <memory>

#include "cuda/memory.h"
#include "cuda/training/matmul.h"
#include "cuda/training/op_list.h"
#include "cuda/training/set_head.h"

namespace neuroshard::cuda {

/// Gives lists of operations to a stream, which may be capturing. Weight gradients that nothing in
/// the list waits for go beside it, in a stream of their own, until something does. Not
/// thread-safe.
class Issuer {
 public:
  /// `stream` must outlive the object.
  static Result<std::unique_ptr<Issuer>> create(cudaStream_t stream);
  ~Issuer();
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  /// What operations take from memory. To be written before the graph of a list that has any of it
  /// is launched.
  [[nodiscard]] StepScalars* scalars() { return scalars_.data(); }
  /// While the stream captures, scalars are left to the caller, and nothing may have to grow: the
  /// list has been issued before.
  Status issue(const OpList& list, bool capturing);
  /// Of both streams.
  [[nodiscard]] ProductCounts products() const;
  /// The memory is given back: what is kept beside it goes, too.
  void forget(const void* memory);
  /// Whether memory that captured lists use has moved since the last call.
  bool take_moved() { return std::exchange(moved_, false); }

 private:
  /// One bit per output of a layer with a ReLU, as cuBLASLt writes and reads them.
  struct Mask {
    Buffer<std::byte> bits;
    bool valid = false;
  };

  /// A stream, and what its work alone uses.
  struct Line {
    cudaStream_t stream = nullptr;
    std::unique_ptr<Matmul> matmul;
    Buffer<float> parts;  ///< of a weight gradient
  };

  Issuer() = default;
  /// What follows goes beside the stream, behind everything that is in it now.
  Status go_beside();
  /// The stream waits for what went beside it.
  Status join();

  /// Operation `i` and those behind it that one kernel does with it; how many.
  Result<std::size_t> issue_from(const OpList& list, std::size_t i, bool capturing);
  Status store(const StepScalars& scalars);
  Status run(const nn::GatherRows& op);
  Status run(const nn::DenseForward& op, bool wants_mask);
  Status run(const nn::DenseBackward& op);
  Status run(const SetHead& head);
  Status run(const nn::ReluBackward& op);
  Status run(const nn::SegmentSum& op);
  Status run(const nn::SegmentSumBackward& op, const float* gate);
  Result<float*> reserve_parts(std::int64_t values);
  Status add_in_parts(const nn::DenseBackward& op);
  /// Both layers' weight gradients.
  Status run(const nn::DenseBackward& above, const nn::DenseBackward& below);
  Status run(const nn::Loss& op);
  Status run(const nn::Adam& op);
  Status run(const nn::MovingAverage& op);
  Status weight_gradient(const nn::DenseBackward& op);
  Status input_gradient(const nn::DenseBackward& op);
  Status reserve_mask(Mask& mask, const nn::DenseForward& op);
  template <typename Kernel, typename... Arguments>
  Status launch(Kernel kernel, std::int64_t threads, const Arguments&... arguments);
  template <typename Kernel>
  Status launch_sums(Kernel kernel, std::int64_t sums, std::int64_t rows_of_blocks,
                     const nn::DenseBackward& op);

  Line main_;
  Line side_;
  Line* line_ = &main_;         ///< where work goes
  cudaEvent_t fork_ = nullptr;  ///< what the side waits for
  cudaEvent_t done_ = nullptr;  ///< what main_ waits for
  bool beside_ = false;         ///< something has gone to the side since the last join
  Buffer<StepScalars> scalars_;
  std::map<const float*, Mask> masks_;  ///< by the layer's outputs
  bool moved_ = false;
};

}  // namespace neuroshard::cuda
