#pragma once

// The head of a set network at once, a warp a set, and what its parameters' gradients sum up over
// the sets.

#include "cuda/training/loss_kernels.cuh"
#include "cuda/training/set_head.h"
#include "cuda/training/travelling_weights.cuh"
#include "cuda/unroll.h"

namespace neuroshard::cuda {

inline constexpr int kHeadSets = 4;  ///< of a block, a warp each
inline constexpr int kHeadThreads = kHeadSets * kLanes;
inline constexpr int kHiddenOfLane =
    kHeadHidden / kLanes;                  ///< every 32nd, from the lane's number on
inline constexpr int kMembersAtOnce = 16;  ///< whose values travel together
static_assert(kHeadInputs == kLanes, "a lane has one input");

/// The hidden layer's weights, by input; a column more keeps the lanes' reads in different banks.
using HeadWeights = float[kHeadInputs][kHeadHidden + 1];

template <typename Value>
__device__ __forceinline__ Value of_lane(Value value, int lane) {
  return __shfl_sync(0xffffffffU, value, lane);
}

/// What a lane needs besides: loaded first, so that it travels with the members.
struct HeadLane {
  float bias[kHiddenOfLane] = {};    ///< of its hidden values
  float weight[kHiddenOfLane] = {};  ///< from there to the prediction
  float output_bias = 0;
  float target = 0;

  __device__ HeadLane(const SetHead& head, std::int64_t set, int lane) {
    if (set >= head.sum.segments) return;
    NEUROSHARD_UNROLL
    for (int j = 0; j < kHiddenOfLane; ++j) {
      const int o = lane + j * kLanes;
      if (o >= head.hidden.spec.outputs) continue;
      bias[j] = head.hidden.bias[o];
      weight[j] = head.output.weight[o];
    }
    output_bias = head.output.bias[0];
    target = head.loss.target[set];
  }
};

/// The lane's hidden values, of inputs that the lanes have one each of. Called by whole warps.
__device__ __forceinline__ void hidden_values(float input, const HeadWeights& weights,
                                              const HeadLane& own, int lane,
                                              float (&hidden)[kHiddenOfLane]) {
  NEUROSHARD_UNROLL
  for (int j = 0; j < kHiddenOfLane; ++j) hidden[j] = 0;
  NEUROSHARD_UNROLL
  for (int k = 0; k < kHeadInputs; ++k) {
    const float x = of_lane(input, k);
    NEUROSHARD_UNROLL
    for (int j = 0; j < kHiddenOfLane; ++j) {
      hidden[j] = __fmaf_rn(x, weights[k][lane + j * kLanes], hidden[j]);
    }
  }
  NEUROSHARD_UNROLL
  for (int j = 0; j < kHiddenOfLane; ++j) {
    hidden[j] += own.bias[j];
    if (!(hidden[j] > 0)) hidden[j] = 0;
  }
}

/// From the lane's hidden values of a set to their gradients, by way of the prediction's loss.
/// Called by whole warps.
__device__ __forceinline__ void hidden_gradients(const SetHead& head, std::int64_t set,
                                                 const HeadLane& own, int lane,
                                                 const float (&hidden)[kHiddenOfLane],
                                                 float (&gradient)[kHiddenOfLane]) {
  float prediction = 0;
  NEUROSHARD_UNROLL
  for (int j = 0; j < kHiddenOfLane; ++j) {
    prediction = __fmaf_rn(hidden[j], own.weight[j], prediction);
  }
  for (int bit = 1; bit < kLanes; bit *= 2) {
    prediction += __shfl_xor_sync(0xffffffffU, prediction, bit);
  }
  prediction += own.output_bias;
  const nn::LossValue loss = loss_on_device(head.loss.spec, prediction, own.target);
  const auto slope = static_cast<float>(head.loss.scale * loss.slope);
  NEUROSHARD_UNROLL
  for (int j = 0; j < kHiddenOfLane; ++j) {
    gradient[j] = hidden[j] > 0 ? slope * own.weight[j] : 0.0F;
    const int o = lane + j * kLanes;
    const int outputs = head.hidden.spec.outputs;
    if (o >= outputs) continue;
    head.hidden.y[set * outputs + o] = hidden[j];
    head.output_back.dx[set * outputs + o] = gradient[j];
  }
  if (lane != 0) return;
  head.output.y[set] = prediction;
  head.loss.slope[set] = slope;
}

/// The gradient of the lane's input. Called by whole warps.
__device__ __forceinline__ float input_gradient(const float (&hidden)[kHiddenOfLane],
                                                const HeadWeights& weights, int lane) {
  float gradient = 0;
  NEUROSHARD_UNROLL
  for (int o = 0; o < kHeadHidden; ++o) {
    gradient = __fmaf_rn(of_lane(hidden[o / kLanes], o % kLanes), weights[lane][o], gradient);
  }
  return gradient;
}

/// A warp a set, and one more for the rows that belong to none.
__global__ void __launch_bounds__(kHeadThreads) set_head_kernel(SetHead head) {
  __shared__ HeadWeights weights;
  const auto lane = static_cast<int>(threadIdx.x % kLanes);
  const int width = head.sum.width;
  const bool mine = lane < width;
  const std::int64_t set =
      static_cast<std::int64_t>(blockIdx.x) * kHeadSets + static_cast<int>(threadIdx.x) / kLanes;
  const bool there = set < head.sum.segments;
  const HeadLane own(head, set, lane);
  TravellingWeights<kHeadInputs, kHeadHidden, kHeadThreads>(head.hidden)
      .store(&weights[0][0], kHeadHidden + 1);
  const std::int64_t begin = set <= head.sum.segments ? head.sum.offsets[set] : 0;
  const std::int64_t end = there ? head.sum.offsets[set + 1] : head.spread.rows;
  const auto members = static_cast<int>(end - begin);
  const std::int64_t first = begin * width + lane;
  float sum = 0;
  if (there && mine) {
    each_value<kMembersAtOnce>(head.sum.x + first, width, members,
                               [&](int, float value) { sum += value; });
    head.sum.y[set * width + lane] = sum;
  }
  __syncthreads();
  if (set > head.sum.segments) return;
  float* const dx = head.spread.dx + first;
  if (!there) {
    for (int k = 0; mine && k < members; ++k) dx[k * width] = 0;
    return;
  }
  float hidden[kHiddenOfLane];
  float back[kHiddenOfLane];
  hidden_values(sum, weights, own, lane, hidden);
  hidden_gradients(head, set, own, lane, hidden, back);
  const float gradient = input_gradient(back, weights, lane);
  if (!mine) return;
  head.hidden_back.dx[set * width + lane] = gradient;
  each_value<kMembersAtOnce>(head.gate.y + first, width, members, [&](int k, float gate) {
    dx[k * width] = gate > 0 ? gradient : 0.0F;
  });
}

/// Blocks of head_gradients_kernel that a layer has.
__host__ __device__ inline int gradient_blocks(const nn::DenseSpec& spec) {
  return sum_blocks(spec.inputs) * spec.outputs + sum_blocks(spec.outputs);
}

/// The weight and bias gradients of a layer, `block` of gradient_blocks.
__device__ __forceinline__ void layer_gradients(const nn::DenseBackward& op, int block) {
  const int across = sum_blocks(op.spec.inputs);
  const int weights = across * op.spec.outputs;
  if (block < weights) {
    weight_gradient_sums(op, block % across, block / across);
  } else {
    bias_gradient_sums(op, block - weights);
  }
}

/// What sums up over the sets: gradients of both layers, and in the last block the losses.
__global__ void __launch_bounds__(kSumColumns* kSumParts) head_gradients_kernel(SetHead head) {
  const auto block = static_cast<int>(blockIdx.x);
  const int of_hidden = gradient_blocks(head.hidden_back.spec);
  const int of_both = of_hidden + gradient_blocks(head.output_back.spec);
  if (block < of_hidden) {
    layer_gradients(head.hidden_back, block);
  } else if (block < of_both) {
    layer_gradients(head.output_back, block - of_hidden);
  } else {
    add_losses<false>(head.loss, static_cast<int>(threadIdx.y * kSumColumns + threadIdx.x));
  }
}

}  // namespace neuroshard::cuda
