#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/shape_ids.h"
#include "nn/inference.h"

namespace neuroshard {

/// The compute model, evaluated incrementally. A device's cost is head(sum of its shards'
/// encodings), and the head's first layer is linear before its ReLU, so what is kept per device is
/// that layer's pre-activation A = W1 sum(e) + b1, and per shape its contribution P = W1 e: adding
/// a shard is A += P, and a device's cost w2 . max(A, 0) + b2.
///
/// Copies what it needs of the model; the workload must outlive it. intern_all() and hold() need
/// the object to themselves, everything else is thread-safe.
class ComputePredictor {
 public:
  /// For plans on `devices` devices, of which replicas know. With `replicas_apart`, tables on every
  /// device add nothing: others look them up. REQUIRES validate(model).ok().
  ComputePredictor(const ComputeModel& model, const Workload& workload, std::int32_t devices,
                   const nn::InferenceKernels& kernels, bool replicas_apart = false);

  /// Numbers of the shapes, from 0 in the order of first sight; new ones are encoded together. A
  /// shape's costs do not depend on the shapes beside it.
  void intern_all(std::span<const ShardShape> shapes, std::span<std::int32_t> ids);
  /// Milliseconds of a device with this shape alone.
  [[nodiscard]] double shape_cost(std::int32_t shape) const {
    return shape_costs_[static_cast<std::size_t>(shape)];
  }

  /// The same of one that may not be interned: 0 then.
  [[nodiscard]] double cost_if_known(ShardShape shape) const;

  /// Floats of a device's state, a multiple of 8.
  [[nodiscard]] std::size_t state_size() const { return bias_.size(); }
  /// Has `state`s begin with these shapes, from the next clear() on. Needs the object to itself.
  void hold(std::span<const ShardShape> shapes);
  /// Makes `state` that of a device with what is held alone.
  void clear(float* state) const;
  /// Adds a shape to `state`; returns milliseconds of all the device's shards. NaN (of networks
  /// that overflow) becomes infinite.
  float place(std::int32_t shape, float* state) const {
    return to_ms(kernels_.add_relu_dot(static_cast<int>(bias_.size()), addend(shape),
                                       output_weight_.data(), state) +
                 output_bias_);
  }
  /// What place() adds for a shape, state_size() floats; valid until the next intern_all().
  [[nodiscard]] const float* addend(std::int32_t shape) const {
    return contributions_.data() + static_cast<std::size_t>(shape) * bias_.size();
  }
  /// Milliseconds of the device whose state is the sum of `parts`; never NaN.
  [[nodiscard]] float cost_of_sum(std::span<const float* const> parts) const {
    return to_ms(kernels_.sum_relu_dot(static_cast<int>(bias_.size()), parts.data(),
                                       static_cast<int>(parts.size()), output_weight_.data()) +
                 output_bias_);
  }
  /// Milliseconds of each of costs.size() devices with the shape added; states[d, state_size()] are
  /// not touched. What place() returns but for rounding: at most 2^-24 state_size() times the sum
  /// of |w2| (|state| + |contribution|) apart, before the logarithm is undone.
  void costs_with(std::int32_t shape, std::span<const float> states, std::span<float> costs) const;
  /// The states of devices by columns, as nn::MaxDotColumns has them.
  struct Columns {
    std::span<const float> values;  ///< [blocks, state_size(), nn::kColumnLanes]
    std::span<const float> most;    ///< [state_size()]
  };
  [[nodiscard]] bool has_columns() const { return kernels_.max_dot_columns != nullptr; }
  /// The same of them, to the bit: costs[blocks, nn::kColumnLanes]. False, with nothing done, where
  /// rows are as fast. REQUIRES has_columns().
  [[nodiscard]] bool costs_with(std::int32_t shape, const Columns& columns,
                                std::span<float> costs) const;
  /// Milliseconds of that device; of one without shards head(0).
  [[nodiscard]] float empty_cost() const { return empty_cost_; }

 private:
  [[nodiscard]] float to_ms(float output) const { return milliseconds_of(output, target_); }
  [[nodiscard]] std::int32_t parts_of(const ShardShape& shape) const;
  void write_inputs(const ShardShape& shape, float* inputs) const;
  void encode(std::span<const ShardShape> shapes);

  const nn::InferenceKernels& kernels_;
  const Workload& workload_;
  const std::int32_t devices_;
  const std::int32_t max_dim_;
  const FeatureSet features_;
  const Scaling scaling_;
  const CostTarget target_;
  const bool replicas_apart_;
  const nn::PackedMlp encoder_;         // features -> encoding
  const nn::PackedMlp lift_;            // encoding -> contribution: W1, without bias and ReLU
  AlignedVector<float> bias_;           // b1, padded
  AlignedVector<float> held_;           // the same with what every device holds
  AlignedVector<float> output_weight_;  // w2, padded
  float output_bias_ = 0;
  float empty_cost_ = 0;

  ShapeIds ids_;
  AlignedVector<float> contributions_;  // [shapes, state_size]
  std::vector<float> offsets_;          // of each shape: w2 . contribution + b2
  std::vector<double> shape_costs_;
  // Work space of intern_all(), for as many new shapes as are encoded at once.
  AlignedVector<float> inputs_;
  AlignedVector<float> encodings_;
  AlignedVector<float> lifted_;
  std::vector<ShardShape> fresh_;
  AlignedVector<float> scratch_;
  AlignedVector<float> state_;
};

}  // namespace neuroshard
