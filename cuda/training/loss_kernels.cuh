#pragma once

// Losses of a batch: their sum, and their slopes.

#include "cuda/training/training_kernels.cuh"

namespace neuroshard::cuda {

/// nn::loss_at (nn/loss.cpp) for the GPU.
__device__ inline nn::LossValue loss_on_device(const nn::LossSpec& spec, double prediction,
                                               double target) {
  const double error = prediction - target;
  const double delta = spec.delta;
  switch (spec.kind) {
    case nn::LossKind::kSquared:
      break;
    case nn::LossKind::kHuber:
      if (fabs(error) <= delta) break;
      return {delta * (2 * fabs(error) - delta), copysign(2 * delta, error)};
    case nn::LossKind::kLogCosh: {
      const double size = fabs(error / delta);
      const double log_cosh = size + log1p(exp(-2 * size)) - 0.69314718055994530942;
      return {2 * delta * delta * log_cosh, 2 * delta * tanh(error / delta)};
    }
    case nn::LossKind::kRelative: {
      const double size = fmax(fabs(target), delta);
      return {error * error / (size * size), 2 * error / (size * size)};
    }
    case nn::LossKind::kSquaredOverTarget: {
      const double size = fmax(fabs(target), delta);
      return {error * error / size, 2 * error / size};
    }
  }
  return {error * error, 2 * error};
}

/// Adds up the losses by a block: thread t every kTrainingThreads-th one from t on, then the
/// threads' sums in pairs. Threads behind those only wait.
template <bool kSlopes>
__device__ __forceinline__ void add_losses(const nn::Loss& op, int thread) {
  __shared__ double sums[kTrainingThreads];
  double sum = 0;
  for (std::int64_t i = thread; thread < kTrainingThreads && i < op.count; i += kTrainingThreads) {
    const nn::LossValue loss = loss_on_device(op.spec, op.prediction[i], op.target[i]);
    if constexpr (kSlopes) op.slope[i] = static_cast<float>(op.scale * loss.slope);
    sum += loss.value;
  }
  if (thread < kTrainingThreads) sums[thread] = sum;
  for (int half = kTrainingThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) sums[thread] += sums[thread + half];
  }
  if (thread == 0) *op.sum += sums[0];
}

__global__ void loss_kernel(nn::Loss op) { add_losses<true>(op, static_cast<int>(threadIdx.x)); }

}  // namespace neuroshard::cuda
