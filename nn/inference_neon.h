#pragma once

#include <cstdint>

// Meaning and sizes: InferenceKernels in nn/inference.h. For processors of 64-bit Arm, all of which
// have these instructions.
namespace neuroshard::nn::neon {

void dense_packed(std::int64_t rows, int inputs, int outputs, const float* x, std::int64_t x_stride,
                  const float* weight, const float* bias, bool relu, float* y,
                  std::int64_t y_stride);

float add_relu_dot(int size, const float* addend, const float* weight, float* state);

float sum_relu_dot(int size, const float* const* parts, int count, const float* weight);

void max_dot_rows(int size, std::int64_t rows, const float* x, const float* addend,
                  const float* weight, float offset, float* out);

}  // namespace neuroshard::nn::neon
