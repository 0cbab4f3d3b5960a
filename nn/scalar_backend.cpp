#include <algorithm>
#include <cmath>

#include "nn/cpu_backend.h"

// The reference: each output is one loop, written as in the header's formula. Sums over inputs run
// from the first to the last, sums over rows from the first row to the last.
namespace neuroshard::nn {
namespace {

void weight_gradient(const DenseBackward& op) {
  const std::int64_t inputs = op.spec.inputs;
  const std::int64_t outputs = op.spec.outputs;
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      float sum = 0.0f;
      for (std::int64_t r = 0; r < op.rows; ++r) {
        sum += op.dy[r * outputs + o] * op.x[r * inputs + i];
      }
      op.dweight[o * inputs + i] = sum;
    }
    float sum = 0.0f;
    for (std::int64_t r = 0; r < op.rows; ++r) sum += op.dy[r * outputs + o];
    op.dbias[o] = sum;
  }
}

void input_gradient(const DenseBackward& op) {
  const std::int64_t inputs = op.spec.inputs;
  const std::int64_t outputs = op.spec.outputs;
  for (std::int64_t r = 0; r < op.rows; ++r) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      float sum = 0.0f;
      for (std::int64_t o = 0; o < outputs; ++o) {
        sum += op.dy[r * outputs + o] * op.weight[o * inputs + i];
      }
      const bool closed = op.x_activation == Activation::kRelu && !(op.x[r * inputs + i] > 0.0f);
      op.dx[r * inputs + i] = closed ? 0.0f : sum;
    }
  }
}

class ScalarBackend final : public CpuBackend {
 public:
  std::string_view name() const override { return to_string(Isa::kScalar); }

  using CpuBackend::run;

  void run(const DenseForward& op) const override {
    const std::int64_t inputs = op.spec.inputs;
    const std::int64_t outputs = op.spec.outputs;
    for (std::int64_t r = 0; r < op.rows; ++r) {
      for (std::int64_t o = 0; o < outputs; ++o) {
        float sum = op.bias[o];
        for (std::int64_t i = 0; i < inputs; ++i) {
          sum += op.x[r * inputs + i] * op.weight[o * inputs + i];
        }
        if (op.spec.activation == Activation::kRelu) sum = std::max(sum, 0.0f);
        op.y[r * outputs + o] = sum;
      }
    }
  }

  void run(const DenseBackward& op) const override {
    weight_gradient(op);
    if (op.dx != nullptr) input_gradient(op);
  }

  void run(const ReluBackward& op) const override {
    for (std::int64_t i = 0; i < op.count; ++i) {
      if (!(op.y[i] > 0.0f)) op.dy[i] = 0.0f;
    }
  }

  void run(const SegmentSum& op) const override {
    for (std::int64_t s = 0; s < op.segments; ++s) {
      float* y = op.y + s * op.width;
      for (int j = 0; j < op.width; ++j) y[j] = 0.0f;
      for (std::int64_t i = op.offsets[s]; i < op.offsets[s + 1]; ++i) {
        for (int j = 0; j < op.width; ++j) y[j] += op.x[i * op.width + j];
      }
    }
  }

  void run(const Adam& op) const override {
    const auto step = static_cast<double>(op.step);
    const auto m_scale = static_cast<float>(1 / (1 - std::pow(double{op.beta1}, step)));
    const auto v_scale = static_cast<float>(1 / (1 - std::pow(double{op.beta2}, step)));
    for (std::int64_t i = 0; i < op.count; ++i) {
      const float g = op.gradient[i];
      op.m[i] = op.beta1 * op.m[i] + (1 - op.beta1) * g;
      op.v[i] = op.beta2 * op.v[i] + (1 - op.beta2) * g * g;
      const float m = op.m[i] * m_scale;
      const float v = op.v[i] * v_scale;
      const float shrunk = op.parameter[i] * (1 - op.rate * op.decay);
      op.parameter[i] = shrunk - op.rate * m / (std::sqrt(v) + op.epsilon);
    }
  }

  void run(const MovingAverage& op) const override {
    for (std::int64_t i = 0; i < op.count; ++i) {
      op.average[i] = op.keep * op.average[i] + (1 - op.keep) * op.value[i];
    }
  }
};

}  // namespace

const Backend& scalar_backend() {
  static const ScalarBackend backend;
  return backend;
}

}  // namespace neuroshard::nn
