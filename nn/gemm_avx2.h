#pragma once

#include <cstdint>

// Plain arguments only: the source is compiled for AVX2, so it must not instantiate anything that
// other sources share.
namespace neuroshard::nn::avx2 {

/// y[rows, outputs] = x[rows, inputs] weight[outputs, inputs]^T + bias, then max(., 0) if `relu`.
void dense_forward(std::int64_t rows, int inputs, int outputs, const float* x, const float* weight,
                   const float* bias, bool relu, float* y);

/// dx[rows, inputs] = dy[rows, outputs] weight[outputs, inputs]; 0 where `gate` (nullptr: nowhere;
/// else [rows, inputs]) is not positive.
void dense_input_gradient(std::int64_t rows, int inputs, int outputs, const float* dy,
                          const float* weight, const float* gate, float* dx);

/// dweight[outputs, inputs] = dy[rows, outputs]^T x[rows, inputs].
void dense_weight_gradient(std::int64_t rows, int inputs, int outputs, const float* dy,
                           const float* x, float* dweight);

}  // namespace neuroshard::nn::avx2
