#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/training/dataset.h"
#include "engine/training/fit_problem.h"
#include "engine/training/metrics.h"
#include "engine/training/report.h"
#include "engine/training/train.h"

namespace neuroshard {

/// Logarithms need costs above 0: kInvalidInput otherwise.
Status check_costs(std::span<const double> costs, CostTarget target);
/// From the costs of the training part. Errors: those of check_costs.
Result<TargetScale> make_target_scale(std::span<const double> costs, CostTarget target,
                                      double target_scale);

/// Mean and unbiased standard deviation + kLeastDeviation of each column of [rows, width].
inline constexpr double kLeastDeviation = 1e-6;
Scaling make_scaling(std::span<const float> values, int width);
/// Standardises [rows, width] in place.
void apply_scaling(const Scaling& scaling, std::span<float> values);

/// Which columns of [rows, width] hold one value only.
std::vector<bool> constant_columns(std::span<const float> values, int width);

struct FitResult {
  std::vector<std::vector<float>> parameters;  ///< per member, of the best epoch, encoder then head
  std::vector<EpochPoint> curve;
  std::int32_t best_epoch = 0;
  Metrics validation;  ///< of each member on its own part, in that epoch
};

/// Ranges of the options: the message names the option, what was found and what was expected.
Status validate(const FitOptions& options);
/// kInvalidInput naming `option` when a layer has no or too many outputs.
Status check_widths(const std::vector<int>& widths, const std::string& option);

/// Layer widths as reports have them: "128-32".
std::string describe(const std::vector<int>& widths);

/// A report of what is to be trained: options as text, a network's `own` before those of the fit,
/// and the samples of each part.
TrainReport begin_report(std::vector<std::pair<std::string, std::string>> own,
                         const FitOptions& options, const Split& split);

/// kInvalidInput when data sets have several batch sizes: for networks that cannot tell them apart.
template <typename Dataset>
Status check_one_batch_size(std::span<const Dataset> data) {
  for (const Dataset& dataset : data) {
    if (dataset.batch_size == data.front().batch_size) continue;
    return invalid_input("data of batch sizes " + std::to_string(data.front().batch_size) +
                         " and " + std::to_string(dataset.batch_size) +
                         ", expected one: no feature of the network depends on it");
  }
  return {};
}

/// Runs the epochs of all members side by side and keeps the epoch with the least validation MSE
/// over all of them. `phase` is what the progress sink is told.
Result<FitResult> fit(const FitProblem& problem, const FitOptions& options,
                      const TrainControl& control, std::string_view phase);

}  // namespace neuroshard
