#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/core/status.h"
#include "nn/isa.h"
#include "nn/loss.h"
#include "nn/mlp.h"

namespace neuroshard::nn {

// Arguments of the operations. Matrices are row-major without padding; every pointer is memory of
// the backend that runs the operation and, unless said otherwise, arrays do not overlap.

/// out[i, :] = table[index[i], :].
struct GatherRows {
  std::int64_t rows;
  int width;
  const std::int32_t* index;  ///< [rows]
  const float* table;         ///< [any, width]
  float* out;                 ///< [rows, width]
};

/// y = activation(x weight^T + bias). On CPUs the ReLU of NaN is NaN: a network that overflows says
/// so.
struct DenseForward {
  std::int64_t rows;
  DenseSpec spec;
  const float* x;       ///< [rows, inputs]
  const float* weight;  ///< [outputs, inputs]
  const float* bias;    ///< [outputs]
  float* y;             ///< [rows, outputs]
};

/// Gradients of the linear part of a dense layer. `dy` is the gradient before the layer's own
/// activation (see ReluBackward). dweight = dy^T x, dbias = column sums of dy, and
/// dx = (dy weight) * x_activation'(x): the gate of the layer that made x is applied on the way.
/// All three replace what is there.
struct DenseBackward {
  std::int64_t rows;
  DenseSpec spec;
  const float* x;       ///< [rows, inputs]
  const float* weight;  ///< [outputs, inputs]; read for dx only
  const float* dy;      ///< [rows, outputs]
  float* dweight;       ///< [outputs, inputs]
  float* dbias;         ///< [outputs]
  Activation x_activation;
  float* dx;  ///< [rows, inputs]; nullptr: not wanted
};

/// dy[i] = y[i] > 0 ? dy[i] : 0, in place; y is the ReLU's output.
struct ReluBackward {
  std::int64_t count;
  const float* y;
  float* dy;
};

/// y[s, :] = sum of x[i, :] for i in [offsets[s], offsets[s + 1]), added in that order. An empty
/// segment gives zeros.
struct SegmentSum {
  std::int64_t segments;
  int width;
  const std::int32_t* offsets;  ///< [segments + 1], ascending, from 0
  const float* x;               ///< [offsets[segments], width]
  float* y;                     ///< [segments, width]
};

/// dx[i, :] = dy[s, :] for every member i of segment s, and 0 for rows behind the last segment.
struct SegmentSumBackward {
  std::int64_t segments;
  int width;
  const std::int32_t* offsets;
  const float* dy;        ///< [segments, width]
  float* dx;              ///< [max(offsets[segments], rows), width]
  std::int64_t rows = 0;  ///< with those that belong to no segment (Backend::row_multiple)
};

/// slope[i] = scale * d loss_i / d prediction_i, and *sum += the sum of the losses (unscaled, added
/// in order).
struct Loss {
  std::int64_t count;
  LossSpec spec;
  const float* prediction;
  const float* target;
  double scale;
  float* slope;
  double* sum;
};

/// One step of Adam (Kingma & Ba 2015, as torch.optim.Adam): first and second moment with bias
/// correction for the `step`-th call (from 1), then parameter -= rate * m / (sqrt(v) + epsilon).
/// With decay > 0 parameters also shrink by rate * decay (AdamW).
struct Adam {
  std::int64_t count;
  std::int64_t step;
  float rate = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float decay = 0.0f;
  const float* gradient;
  float* parameter;
  float* m;
  float* v;
};

/// average = keep * average + (1 - keep) * value, element by element.
struct MovingAverage {
  std::int64_t count;
  float keep;
  const float* value;
  float* average;
};

/// Where networks are trained: memory and batch-level operations. Operations may be asynchronous;
/// they run in the order they were issued, and the first failure is reported by `synchronize`.
/// CPU backends run at once and cannot fail.
/// Thread-safety: const and stateless on CPUs: any number of threads, on memory of their own.
/// Determinism: equal arguments give equal bits on the same machine; sums have a fixed order.
class Backend {
 public:
  virtual ~Backend() = default;

  /// As in NEUROSHARD_BACKEND.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Sets of a batch that go through the network together. CPUs take parts, one a thread; a GPU
  /// takes the batch whole. Part of what results depend on.
  [[nodiscard]] virtual std::int64_t chunk_sets() const { return 64; }
  /// What the members of a chunk are filled up to a multiple of, with rows that belong to no set: a
  /// backend that keeps what it has prepared for a shape wants to see few of them.
  [[nodiscard]] virtual std::int64_t row_multiple() const { return 1; }

  /// `bytes` of uninitialised memory aligned to 64 bytes; nullptr when there is none left.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) const = 0;
  /// Gives memory of `allocate` back; nullptr is allowed.
  virtual void release(void* memory) const = 0;
  /// Copies from host memory; `from` may be reused when the call returns.
  virtual void upload(void* to, const void* from, std::size_t bytes) const = 0;
  /// Copies to host memory; `to` is complete after `synchronize`.
  virtual void download(void* to, const void* from, std::size_t bytes) const = 0;
  virtual void fill_zero(void* memory, std::size_t bytes) const = 0;
  /// Waits for everything issued; the first failure since the last call.
  virtual Status synchronize() const = 0;

  virtual void run(const GatherRows& op) const = 0;
  virtual void run(const DenseForward& op) const = 0;
  virtual void run(const DenseBackward& op) const = 0;
  virtual void run(const ReluBackward& op) const = 0;
  virtual void run(const SegmentSum& op) const = 0;
  virtual void run(const SegmentSumBackward& op) const = 0;
  virtual void run(const Loss& op) const = 0;
  virtual void run(const Adam& op) const = 0;
  virtual void run(const MovingAverage& op) const = 0;
};

/// The CPU backend of an instruction set. REQUIRES that this processor has it. Lives forever.
const Backend& cpu_backend(Isa isa);

/// The backend of select_isa(): the best this processor has, or the one NEUROSHARD_BACKEND names.
Result<const Backend*> select_backend();

}  // namespace neuroshard::nn
