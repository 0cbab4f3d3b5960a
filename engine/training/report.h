#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/cost_model/shipped_models.h"
#include "engine/training/metrics.h"

namespace neuroshard {

/// One epoch of a training.
struct EpochPoint {
  std::int32_t epoch = 0;      ///< from 1
  double train_loss = 0;       ///< mean loss over the epoch's steps, in units of the learned target
  double validation_loss = 0;  ///< the same of the validation part; the least is the best epoch's
  double validation_mse = 0;   ///< ms^2
};

/// What a training did, and how good its network is. Holds no times: equal trainings have equal
/// reports.
struct TrainReport {
  std::vector<std::pair<std::string, std::string>> options;  ///< as used, in the order of printing
  std::int64_t train_samples = 0;
  std::int64_t validation_samples = 0;
  std::int64_t test_samples = 0;
  std::vector<EpochPoint> curve;
  std::int32_t best_epoch = 0;
  Metrics validation;
  Metrics test;
};

/// MSE, MAPE and Kendall's tau for people; "-" for what is not known.
std::vector<std::string> metrics_cells(const Metrics& metrics);

/// Name and value of each line of a table: samples, best epoch, metrics on validation and test.
std::vector<std::pair<std::string, std::string>> report_rows(const TrainReport& report);

/// Epoch, training loss, validation loss, validation MSE: at most `rows` lines of the learning
/// curve, evenly spread, the best epoch and the last among them.
std::vector<std::vector<std::string>> curve_rows(const TrainReport& report, std::size_t rows);

/// JSON of one network or both directions ({"format": "neuroshard-training", "version": 1,
/// "data_hardware", "data_provenance", "networks": {NAME: {...}}}). Deterministic.
std::string format_training(const std::vector<std::pair<std::string, const TrainReport*>>& networks,
                            const ModelOrigin& data);

/// JSON of an evaluation ({"format": "neuroshard-evaluation", "version": 1, "cost_model",
/// "hardware", "cost_provenance", "data_hardware", "data_provenance", "networks": {NAME: {"count",
/// "mse_ms2", "mape", "kendall_tau", "error_90", "interval_share", "interval_coverage"}}}), null
/// for what is not known: where the model's costs come from, and the data's. Deterministic.
std::string format_evaluation(const std::vector<std::pair<std::string, Metrics>>& networks,
                              const NamedCostModels& models, const ModelOrigin& data);

}  // namespace neuroshard
