#pragma once

#include <cstdint>

// Plain arguments only, as in nn/gemm_avx2.h.
namespace neuroshard::nn::avx2 {

/// y[0, width) = sum of the rows of x[rows, width], first to last.
void sum_rows(std::int64_t rows, int width, const float* x, float* y);

/// dy[i] = y[i] > 0 ? dy[i] : 0.
void relu_backward(std::int64_t count, const float* y, float* dy);

/// Adam with its step-dependent factors worked out: see nn/backend.h.
struct AdamFactors {
  float rate;
  float beta1;
  float beta2;
  float epsilon;
  float m_scale;  ///< 1 / (1 - beta1^step)
  float v_scale;  ///< 1 / (1 - beta2^step)
  float keep;     ///< 1 - rate * decay
};
void adam(std::int64_t count, const AdamFactors& factors, const float* gradient, float* parameter,
          float* m, float* v);

/// average = keep * average + (1 - keep) * value.
void moving_average(std::int64_t count, float keep, const float* value, float* average);

}  // namespace neuroshard::nn::avx2
