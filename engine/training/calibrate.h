#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/training/dataset.h"
#include "engine/training/metrics.h"
#include "engine/training/train.h"

namespace neuroshard {

/// How trained networks are fitted on to a few measurements of other hardware.
struct CalibrateOptions {
  /// The samples are dealt out to so many parts; one network a part learns from the others, and all
  /// of them together are judged by what they did not see.
  std::int32_t folds = 4;
  /// Each is tried; the one with the least error on those parts counts.
  std::vector<double> learning_rates;
  FitOptions fit;  ///< of each network; members, shares and learning rate count for nothing
};
CalibrateOptions default_calibrate_options();

/// Least samples of a calibration: fewer say neither what to change nor how far off it is.
inline constexpr std::int64_t kLeastCalibrationSamples = 20;

/// What a calibration did to one network: how well the base fits the samples, and how well networks
/// do that have not seen them.
struct CalibrationReport {
  Metrics before;
  Metrics after;
  double learning_rate = 0;
  std::int32_t epochs = 0;  ///< after which it got no better; 0: the line alone did best
};

struct ComputeCalibration {
  ComputeModel model;
  CalibrationReport report;
};

struct CommCalibration {
  CommModels models;
  CalibrationReport forward;
  CalibrationReport backward;
};

/// Begins with the networks of `base`, put on the line that is nearest to the measurements, and
/// goes on training them with these samples. The model says the mean of the folds' networks, side
/// by side in one; each begins with a member of the base (members_of()), one after the other, so
/// that there are as many folds as members at least, and a model that is calibrated again stays as
/// wide. Its error is that of the folds' networks on the parts that they have not seen. Where they
/// do no better than the line alone, the model is the base on that line, or as it was. Same
/// arguments, same model. Errors: as train_compute(), fewer than kLeastCalibrationSamples, more
/// than 16 members.
Result<ComputeCalibration> calibrate_compute(const ComputeModel& base,
                                             std::span<const ComputeDataset> data,
                                             const CalibrateOptions& options,
                                             const TrainControl& control);

/// The same of both directions. Errors: fixed-devices networks and data of other device counts,
/// too.
Result<CommCalibration> calibrate_comm(const CommModels& base, std::span<const CommDataset> data,
                                       const CalibrateOptions& options,
                                       const TrainControl& control);

}  // namespace neuroshard
