#pragma once

// Weights of a small layer on their way to shared memory.

#include "cuda/unroll.h"
#include "nn/backend.h"

namespace neuroshard::cuda {

/// A thread's share of them, for a block of kThreads: kInputs of each of kOutputs, zeros where
/// there are none. Loaded when made, so that other loads can follow before the first one has come.
template <int kInputs, int kOutputs, int kThreads>
class TravellingWeights {
 public:
  __device__ explicit TravellingWeights(const nn::DenseForward& layer) {
    NEUROSHARD_UNROLL
    for (int j = 0; j < kEach; ++j) {
      const bool there = input(j) < layer.spec.inputs && output(j) < layer.spec.outputs;
      value_[j] = there ? layer.weight[output(j) * layer.spec.inputs + input(j)] : 0.0F;
    }
  }
  /// To weights[input * stride + output].
  __device__ void store(float* weights, int stride) const {
    NEUROSHARD_UNROLL
    for (int j = 0; j < kEach; ++j) weights[input(j) * stride + output(j)] = value_[j];
  }

 private:
  static constexpr int kEach = kInputs * kOutputs / kThreads;
  static_assert(kEach * kThreads == kInputs * kOutputs);

  static __device__ int place(int j) { return static_cast<int>(threadIdx.x) + j * kThreads; }
  static __device__ int input(int j) { return place(j) % kInputs; }
  static __device__ int output(int j) { return place(j) / kInputs; }

  float value_[kEach];
};

}  // namespace neuroshard::cuda
