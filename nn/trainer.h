#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/thread_pool.h"
#include "nn/backend.h"
#include "nn/device_array.h"
#include "nn/set_network.h"

namespace neuroshard::nn {

/// Samples to learn from: sets of rows of one feature matrix, and what the network shall say.
struct SetSamples {
  std::vector<std::int32_t> members;     ///< feature rows, set after set
  std::vector<std::int64_t> offsets{0};  ///< [sets + 1] into members
  std::vector<float> targets;            ///< [sets, outputs]

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  void add(std::span<const std::int32_t> set, std::span<const float> target);
};

/// Everything a training run carries from step to step besides its data and its shuffling.
struct TrainerState {
  std::int64_t step = 0;  ///< optimizer steps so far
  std::vector<float> parameters;
  std::vector<float> m;  ///< Adam's moments
  std::vector<float> v;
  std::vector<float> average;  ///< moving average of the parameters

  friend bool operator==(const TrainerState&, const TrainerState&) = default;
};

/// How one step changes the parameters.
struct StepOptions {
  LossSpec loss;
  float rate = 1e-3f;    ///< Adam's learning rate
  float decay = 0.0f;    ///< AdamW's weight decay
  float average = 0.0f;  ///< share of the moving average that a step keeps; 0: it is a plain copy
};

/// StepOptions::average of step `step` (from 0) of a training that keeps at most `most`: the
/// average looks back at a part of the steps so far, so that the first weights are soon forgotten.
float warmed_average(double most, std::int64_t step);

/// Trains one set network by mini-batches. A batch is cut into chunks of the backend's number of
/// sets; each chunk has its own gradient, and the gradients are added in the order of the chunks.
/// The result is therefore the same, bit for bit, for any number of threads. Not thread-safe.
/// Allocates nothing once the largest batch has been seen.
class Trainer {
 public:
  /// `features` [rows, spec.inputs()] is copied to the backend. `pool` may be nullptr: one thread.
  /// Starts from parameters 0. Errors: memory. `backend` and `pool` must outlive the trainer.
  static Result<Trainer> create(const Backend& backend, ThreadPool* pool,
                                const SetNetworkSpec& spec, std::span<const float> features);

  /// A fresh start from these parameters: moments 0, step 0, average = parameters.
  Status start(std::span<const float> parameters);
  Status restore(const TrainerState& state);
  Result<TrainerState> state() const;

  /// One optimizer step on the mean loss over the samples `batch` (indices into samples), at least
  /// one of them. REQUIRES members inside the feature matrix.
  Status step(const SetSamples& samples, std::span<const std::int32_t> batch,
              const StepOptions& options);
  /// Sum of the losses (of every output of every sample) since the last call.
  Result<double> take_loss();

  /// Outputs [batch.size(), outputs] of the current parameters, or of their moving average.
  enum class Weights { kCurrent, kAverage };
  Status predict(const SetSamples& samples, std::span<const std::int32_t> batch, Weights weights,
                 std::span<float> out);

 private:
  // One part of a batch: its inputs and the values between its layers.
  struct Chunk {
    Chunk(const Backend& backend, const SetNetworkSpec& spec);
    SetNetwork network;
    std::vector<std::int32_t> host_members;
    std::vector<std::int32_t> host_offsets;
    std::vector<float> host_targets;
    DeviceArray<std::int32_t> members;
    DeviceArray<std::int32_t> offsets;
    DeviceArray<float> targets;
    DeviceArray<float> x;
    DeviceArray<double> loss;  // one value, summed since the last take_loss
    SetBatch batch;
  };

  Trainer(const Backend& backend, ThreadPool* pool, const SetNetworkSpec& spec);

  // Cuts the batch into chunks and uploads them; returns how many there are.
  Result<std::int64_t> prepare(const SetSamples& samples, std::span<const std::int32_t> batch,
                               bool with_gradients);
  Status add_chunk();
  Status load(Chunk& chunk, const SetSamples& samples, std::span<const std::int32_t> part,
              bool with_gradients);
  const float* forward(Chunk& chunk, const float* parameters);
  template <typename Body>
  void for_each_chunk(std::int64_t chunks, const Body& body);

  const Backend* backend_;
  ThreadPool* pool_;
  SetNetworkSpec spec_;
  std::size_t count_;  // parameters
  std::int64_t step_ = 0;
  DeviceArray<float> features_;
  DeviceArray<float> parameters_;
  DeviceArray<float> m_;
  DeviceArray<float> v_;
  DeviceArray<float> average_;
  DeviceArray<float> gradient_;
  DeviceArray<float> chunk_gradients_;           // [chunks, count_]
  DeviceArray<std::int32_t> reduction_offsets_;  // {0, chunks}: one segment over the chunks
  std::vector<Chunk> chunks_;
};

}  // namespace neuroshard::nn
