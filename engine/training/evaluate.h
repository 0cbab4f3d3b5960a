#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/training/dataset.h"
#include "engine/training/metrics.h"

namespace neuroshard {

/// Milliseconds the model gives for samples `ids` of the dataset, in that order; never NaN. One
/// thread.
/// REQUIRES validate(model).ok(). Errors: ids outside the pool, memory.
Result<std::vector<double>> predict_compute(const ComputeModel& model,
                                            const ComputeDataset& dataset,
                                            std::span<const std::int32_t> ids);

/// Milliseconds per device of samples `ids`: [ids, devices]. Errors: fixed-devices models of
/// another device count; memory.
Result<std::vector<double>> predict_comm(const CommModels& models, CommDirection direction,
                                         const CommDataset& dataset,
                                         std::span<const std::int32_t> ids);

/// How well the models fit these samples of the data sets, or all, taken together. The interval is
/// the model's own, where it has one.
Result<Metrics> evaluate_compute(const ComputeModel& model, std::span<const ComputeDataset> data,
                                 const IdParts& ids);
Result<Metrics> evaluate_compute(const ComputeModel& model, std::span<const ComputeDataset> data);

/// Over all devices of the samples. The forward network gets the measured starts.
Result<Metrics> evaluate_comm(const CommModels& models, CommDirection direction,
                              std::span<const CommDataset> data, const IdParts& ids);
struct CommMetrics {
  Metrics forward;
  Metrics backward;
};
Result<CommMetrics> evaluate_comm(const CommModels& models, std::span<const CommDataset> data);

/// What a model file is to say of its error, where samples that it was not trained with gave these
/// metrics; nothing of too few of them.
std::optional<HeldOutError> held_out_error(const Metrics& metrics);

}  // namespace neuroshard
