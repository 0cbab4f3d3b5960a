#include <cmath>

#include "nn/cpu_backend.h"
#include "nn/gemm_avx2.h"
#include "nn/vector_avx2.h"

namespace neuroshard::nn {
namespace {

// Where there are no rows, their pointers may be null, which kernels add to: the reference answers.
class Avx2Backend final : public CpuBackend {
 public:
  std::string_view name() const override { return to_string(Isa::kAvx2); }

  using CpuBackend::run;

  void run(const DenseForward& op) const override {
    if (op.rows == 0) return scalar_backend().run(op);
    avx2::dense_forward(op.rows, op.spec.inputs, op.spec.outputs, op.x, op.weight, op.bias,
                        op.spec.activation == Activation::kRelu, op.y);
  }

  void run(const DenseBackward& op) const override {
    if (op.rows == 0) return scalar_backend().run(op);
    avx2::dense_weight_gradient(op.rows, op.spec.inputs, op.spec.outputs, op.dy, op.x, op.dweight);
    avx2::sum_rows(op.rows, op.spec.outputs, op.dy, op.dbias);
    if (op.dx == nullptr) return;
    const float* gate = op.x_activation == Activation::kRelu ? op.x : nullptr;
    avx2::dense_input_gradient(op.rows, op.spec.inputs, op.spec.outputs, op.dy, op.weight, gate,
                               op.dx);
  }

  void run(const ReluBackward& op) const override { avx2::relu_backward(op.count, op.y, op.dy); }

  void run(const SegmentSum& op) const override {
    if (op.offsets[op.segments] == op.offsets[0]) return scalar_backend().run(op);
    for (std::int64_t s = 0; s < op.segments; ++s) {
      const std::int64_t begin = op.offsets[s];
      avx2::sum_rows(op.offsets[s + 1] - begin, op.width, op.x + begin * op.width,
                     op.y + s * op.width);
    }
  }

  void run(const Adam& op) const override {
    const auto step = static_cast<double>(op.step);
    const avx2::AdamFactors factors{
        .rate = op.rate,
        .beta1 = op.beta1,
        .beta2 = op.beta2,
        .epsilon = op.epsilon,
        .m_scale = static_cast<float>(1 / (1 - std::pow(double{op.beta1}, step))),
        .v_scale = static_cast<float>(1 / (1 - std::pow(double{op.beta2}, step))),
        .keep = 1 - op.rate * op.decay};
    avx2::adam(op.count, factors, op.gradient, op.parameter, op.m, op.v);
  }

  void run(const MovingAverage& op) const override {
    avx2::moving_average(op.count, op.keep, op.value, op.average);
  }
};

}  // namespace

const Backend& avx2_backend() {
  static const Avx2Backend backend;
  return backend;
}

}  // namespace neuroshard::nn
