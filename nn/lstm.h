#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/status.h"
#include "nn/backend.h"
#include "nn/device_array.h"
#include "nn/isa.h"
#include "nn/lstm_kernels.h"

namespace neuroshard::nn {

/// Shape of a layer of long short-term memory (Hochreiter & Schmidhuber 1997, with the forget gate
/// of Gers et al. 2000). Its parameters are weight [4 units, inputs], bias [4 units] and recurrent
/// [4 units, units], in that order; the gates are input, forget, candidate and output, as in
/// torch.nn.LSTM, which has the bias in two parts.
struct LstmSpec {
  int inputs = 0;
  int units = 0;

  friend bool operator==(const LstmSpec&, const LstmSpec&) = default;
};

std::size_t parameter_count(const LstmSpec& spec);
/// The recurrent weights among the parameters, turned to [units, 4 units], so that one hidden value
/// meets adjacent weights of all gates.
void turn_recurrent(const LstmSpec& spec, const float* parameters, float* turned);

/// Thread-safe on memory of its own. kScalar is the reference, with the same bits on every compiler
/// but for its exp(); there is a faster way for AVX2 and units that are a multiple of 8. REQUIRES
/// that this processor has `isa`.
void run(const LstmStep& op, Isa isa = Isa::kScalar);

/// Forward pass over a sequence, from hidden and cell 0, and backward through time, with the memory
/// for what is in between. What the inputs bring and the gradients of weights are one product for
/// all steps, of the backend; what a step brings the next is plain loops. On CPU backends alone.
/// Allocates only for sequences longer than any before. Not thread-safe: one a thread.
class Lstm {
 public:
  /// `backend` must outlive it.
  Lstm(const Backend& backend, const LstmSpec& spec);

  [[nodiscard]] const LstmSpec& spec() const { return spec_; }

  /// Makes room for sequences of up to `steps`; with gradients if `backward` will be called.
  Status reserve(std::int64_t steps, bool with_gradients);

  /// Hidden values [steps, units], valid until the next call. REQUIRES reserve(steps, ..);
  /// x [steps, inputs].
  const float* forward(const float* parameters, std::int64_t steps, const float* x);

  /// Where the gradient by the hidden values, [steps, units], is expected by `backward`, which uses
  /// it up.
  [[nodiscard]] float* output_gradient() { return d_hidden_.data(); }

  /// Gradients of the last `forward` with the same arguments; they replace what is there.
  /// d_parameters is ordered like parameters; dx [steps, inputs].
  void backward(const float* parameters, std::int64_t steps, const float* x, float* d_parameters,
                float* dx);

 private:
  void step_back(const float* recurrent, std::int64_t step);

  const Backend* backend_;
  LstmSpec spec_;
  DeviceArray<float> projected_;  // [steps, 4 units]
  DeviceArray<float> gates_;      // the same
  DeviceArray<float> cells_;      // [1 + steps, units]; the first is 0
  DeviceArray<float> hidden_;     // the same
  DeviceArray<float> d_hidden_;   // [steps, units]
  DeviceArray<float> d_gates_;    // [steps, 4 units], before sigmoid and tanh
  DeviceArray<float> d_cell_;     // [units]
  DeviceArray<float> turned_;     // [units, 4 units]
  DeviceArray<float> spare_;      // [4 units]
};

}  // namespace neuroshard::nn
