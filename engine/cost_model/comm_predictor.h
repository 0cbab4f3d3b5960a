#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/exchange_costs.h"
#include "nn/inference.h"

namespace neuroshard {

/// All-to-all times of complete plans, `plans` rows of one value per device each.
struct CommBatch {
  std::int64_t plans = 0;
  std::int32_t devices = 0;
  const float* compute_ms = nullptr;       ///< [plans, devices]
  const std::int64_t* dim_sums = nullptr;  ///< [plans, devices]
  float* backward_ms = nullptr;            ///< out, [plans, devices]
  float* forward_ms = nullptr;             ///< out, [plans, devices]
  /// Whether all devices of a plan enter the forward exchange at once, and none waits there.
  bool together = false;
};

/// The communication models, evaluated on complete plans: backward from the dims, then each
/// device's start (its compute + backward, less the least of them), then forward from dims and
/// starts (NeuroShard, section 4). Of exchanges in other formats than fp32, which the networks have
/// learned, dims are the fp32 ones of as many bytes, and codecs take their time before and after.
/// One device exchanges nothing: where networks for any number of devices are asked, both its times
/// are 0. Immutable; thread-safe.
class CommPredictor {
 public:
  /// REQUIRES validate(models).ok().
  CommPredictor(const CommModels& models, std::int64_t batch_size,
                const nn::InferenceKernels& kernels, const ExchangeCosts& exchange = {});

  /// Whether renumbering the devices renumbers the results and changes none.
  [[nodiscard]] bool devices_alike() const {
    return architecture_ == CommArchitecture::kPooledDevices;
  }
  /// Floats of scratch that predict() needs for a batch of this size.
  [[nodiscard]] std::size_t scratch_size(const CommBatch& batch) const;
  /// Fills the batch's outputs. A plan's result does not depend on the others. REQUIRES, of
  /// fixed-devices models, batch.devices == the model's.
  void predict(const CommBatch& batch, float* scratch) const;

 private:
  struct Direction {
    Direction(const CommModel& model, const CommFeatureSet::Split& split,
              const nn::InferenceKernels& kernels);

    [[nodiscard]] std::size_t own() const { return scaling.mean.size() - common; }

    /// Inputs that all devices have in common are the first ones, `common` of them; 0 of
    /// fixed-devices models.
    std::size_t common;
    Scaling scaling;
    CostTarget target;
    nn::PackedMlp network;
  };

  [[nodiscard]] std::size_t work_size(const Direction& direction, const CommBatch& batch) const;
  const float* run_fixed(const Direction& direction, const CommBatch& batch, const float* dims,
                         const float* starts, float* work) const;
  const float* pooled_forward(const CommBatch& batch, const float* dims, const float* starts,
                              float* work) const;
  void pooled_backward(const CommBatch& batch, const float* dims, float* work) const;
  void add_codecs(const ExchangeCosts::Way& way, const CommBatch& batch, float* out) const;
  void write_costs(const Direction& direction, const CommBatch& batch, const float* outputs,
                   float* out) const;

  const CommArchitecture architecture_;
  const CommFeatureSet features_;
  const std::int64_t batch_size_;
  const ExchangeCosts exchange_;
  const Direction forward_;
  const Direction backward_;
};

}  // namespace neuroshard
