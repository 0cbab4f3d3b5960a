#include "engine/training/calibrate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/rng.h"
#include "engine/training/calibration_line.h"
#include "engine/training/comm_rows.h"
#include "engine/training/evaluate.h"
#include "engine/training/fit.h"
#include "engine/training/inputs.h"
#include "engine/training/merge_members.h"
#include "engine/training/split_members.h"

namespace neuroshard {
namespace {

constexpr std::int32_t kMostFolds = 16;

/// Sample by sample, the fold whose network does not learn from it.
std::vector<std::int32_t> deal_out(std::size_t samples, std::int32_t folds, std::uint64_t seed) {
  std::vector<std::int32_t> fold(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    fold[i] = static_cast<std::int32_t>(i % static_cast<std::size_t>(folds));
  }
  Rng rng(seed);
  for (std::size_t i = samples; i > 1; --i) std::swap(fold[i - 1], fold[rng.below(i)]);
  return fold;
}

Status check(std::int64_t samples, const CalibrateOptions& options) {
  if (samples < kLeastCalibrationSamples) {
    return invalid_input("samples: found " + std::to_string(samples) + ", expected at least " +
                         std::to_string(kLeastCalibrationSamples));
  }
  if (options.folds < 2 || options.folds > kMostFolds || options.learning_rates.empty()) {
    return invalid_input("folds: found " + std::to_string(options.folds) +
                         ", expected 2 to 16, and at least one learning rate");
  }
  return {};
}

/// Each member of the base goes on learning in a fold of its own, so that a model that is
/// calibrated again stays as wide.
Result<std::int32_t> folds_for(std::size_t members, const CalibrateOptions& options) {
  if (members > static_cast<std::size_t>(kMostFolds)) {
    return invalid_input("base: found a model of " + std::to_string(members) +
                         " networks, expected at most 16");
  }
  return std::max(options.folds, static_cast<std::int32_t>(members));
}

std::vector<float> parameters_of(std::initializer_list<const nn::Mlp*> networks) {
  std::vector<float> parameters;
  for (const nn::Mlp* mlp : networks) {
    parameters.insert(parameters.end(), mlp->parameters().begin(), mlp->parameters().end());
  }
  return parameters;
}

/// Trains on from problem.starts with each learning rate; the weights of the members that did best.
/// None where none did better than report.after.
Result<std::vector<std::vector<float>>> tune(const FitProblem& problem,
                                             const CalibrateOptions& options,
                                             const TrainControl& control, std::string_view phase,
                                             CalibrationReport& report) {
  std::vector<std::vector<float>> best;
  for (const double rate : options.learning_rates) {
    FitOptions fit_options = options.fit;
    fit_options.members = static_cast<std::int32_t>(problem.parts.size());
    fit_options.learning_rate = rate;
    NEUROSHARD_ASSIGN_OR_RETURN(FitResult result, fit(problem, fit_options, control, phase));
    if (result.best_epoch == 0 || !(result.validation.mse < report.after.mse)) continue;
    report.after = result.validation;
    report.learning_rate = rate;
    report.epochs = result.best_epoch;
    best = std::move(result.parameters);
  }
  return best;
}

/// The line for the base, or none where it is nearer without: a line of the least relative errors
/// need not have the least squares. `report` gets what the base does on it.
Line best_line(std::span<const double> predicted, std::span<const double> measured,
               CostTarget target, CalibrationReport& report) {
  const Line line = line_between(predicted, measured, target);
  report.after = measure_line(line, predicted, measured);
  if (report.after.mse < report.before.mse) return line;
  report.after = report.before;
  return {};
}

/// Of all samples of the data sets, one set after the other; `predict` is asked about each.
template <typename Dataset, typename Predict>
Result<std::vector<double>> predict_all(std::span<const Dataset> data, Predict predict) {
  std::vector<double> predicted;
  for (const Dataset& dataset : data) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> own,
                                predict(dataset, all_ids(dataset.samples.size())));
    predicted.insert(predicted.end(), own.begin(), own.end());
  }
  return predicted;
}

Result<std::vector<double>> predict_all(const ComputeModel& model,
                                        std::span<const ComputeDataset> data) {
  return predict_all(data, [&](const ComputeDataset& dataset, std::span<const std::int32_t> ids) {
    return predict_compute(model, dataset, ids);
  });
}

Result<std::vector<double>> predict_all(const CommModels& models, CommDirection direction,
                                        std::span<const CommDataset> data) {
  return predict_all(data, [&](const CommDataset& dataset, std::span<const std::int32_t> ids) {
    return predict_comm(models, direction, dataset, ids);
  });
}

Result<CommModel> calibrate_direction(const CommModels& base, std::span<const CommDataset> data,
                                      CommDirection direction, const CalibrateOptions& options,
                                      const TrainControl& control, CalibrationReport& report) {
  const bool forward = direction == CommDirection::kForward;
  const CommModel& old = forward ? base.forward : base.backward;
  const std::vector<nn::Mlp> members = members_of(old.mlp);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int32_t folds, folds_for(members.size(), options));
  CommRows rows = make_rows(data, base, direction);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> predicted,
                              predict_all(base, direction, data));
  report.before = measure_fit(predicted, rows.costs);
  const Line line = best_line(predicted, rows.costs, old.target, report);
  FitProblem problem;
  problem.network.head = layers_of(members.front());
  problem.constant.assign(static_cast<std::size_t>(rows.width), false);
  NEUROSHARD_ASSIGN_OR_RETURN(problem.scale,
                              make_target_scale(rows.costs, old.target, options.fit.target_scale));
  const std::vector<std::int32_t> fold =
      deal_out(rows.first_row.size() - 1, folds, options.fit.seed);
  for (std::int32_t k = 0; k < folds; ++k) {
    std::vector<std::int32_t> train;
    std::vector<std::int32_t> validation;
    for (std::size_t i = 0; i < fold.size(); ++i) {
      (fold[i] == k ? validation : train).push_back(static_cast<std::int32_t>(i));
    }
    validation = rows_of(rows, validation);
    std::vector<double> measured = pick_rows(rows.costs, rows.outputs, validation);
    problem.parts.push_back({rows_of(rows, train), std::move(validation), std::move(measured)});
  }
  for (const nn::Mlp& member : members) {
    CommModels own = base;
    CommModel& start = forward ? own.forward : own.backward;
    start.mlp = member;
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> says, predict_all(own, direction, data));
    put_on(line_between(says, rows.costs, old.target), old.target, start.mlp);
    problem.scale.unfold(start.mlp);
    problem.starts.push_back(parameters_of({&start.mlp}));
  }
  apply_scaling(old.scaling, rows.inputs);
  problem.features = std::move(rows.inputs);
  add_targets(rows, problem);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::vector<float>> tuned,
                              tune(problem, options, control,
                                   forward ? "calibrate forward" : "calibrate backward", report));
  CommModel model = old;
  if (tuned.empty()) {
    if (members.size() == 1) model.mlp = members.front();  // however often it was there
    put_on(line, old.target, model.mlp);
  } else {
    model.mlp = merge_heads(problem, tuned);
  }
  model.error = held_out_error(report.after);
  return model;
}

}  // namespace

CalibrateOptions default_calibrate_options() {
  CalibrateOptions options;
  options.learning_rates = {1e-3, 3e-3, 1e-2};
  options.fit.epochs = 600;
  options.fit.batch_size = 16;
  options.fit.average = 0.99;
  options.fit.loss = {nn::LossKind::kSquaredOverTarget, 0.1f};
  return options;
}

Result<ComputeCalibration> calibrate_compute(const ComputeModel& base,
                                             std::span<const ComputeDataset> data,
                                             const CalibrateOptions& options,
                                             const TrainControl& control) {
  if (!base.features.sees_batch_size()) NEUROSHARD_RETURN_IF_ERROR(check_one_batch_size(data));
  NEUROSHARD_ASSIGN_OR_RETURN(ComputePool all, pool_datasets(data, base.features));
  NEUROSHARD_RETURN_IF_ERROR(check(std::ssize(all.costs), options));
  const std::vector<ComputeModel> members = members_of(base);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int32_t folds, folds_for(members.size(), options));
  ComputeCalibration found{base, {}};
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> predicted, predict_all(base, data));
  found.report.before = measure_fit(predicted, all.costs);
  const Line line = best_line(predicted, all.costs, base.target, found.report);
  FitProblem problem;
  problem.network = {layers_of(members.front().table), layers_of(members.front().head)};
  problem.constant.assign(static_cast<std::size_t>(base.features.size()), false);
  NEUROSHARD_ASSIGN_OR_RETURN(problem.scale,
                              make_target_scale(all.costs, base.target, options.fit.target_scale));
  const std::vector<std::int32_t> fold = deal_out(all.costs.size(), folds, options.fit.seed);
  for (std::int32_t k = 0; k < folds; ++k) {
    FitPart part;
    for (std::size_t i = 0; i < fold.size(); ++i) {
      (fold[i] == k ? part.validation : part.train).push_back(static_cast<std::int32_t>(i));
      if (fold[i] == k) part.validation_ms.push_back(all.costs[i]);
    }
    problem.parts.push_back(std::move(part));
  }
  for (ComputeModel start : members) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> says, predict_all(start, data));
    put_on(line_between(says, all.costs, base.target), base.target, start.head);
    problem.scale.unfold(start.head);
    problem.starts.push_back(parameters_of({&start.table, &start.head}));
  }
  apply_scaling(base.scaling, all.features);
  problem.features = std::move(all.features);
  for (const double cost : all.costs) {
    all.samples.targets.push_back(static_cast<float>(problem.scale.learned(cost)));
  }
  problem.samples = std::move(all.samples);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::vector<float>> tuned,
                              tune(problem, options, control, "calibrate compute", found.report));
  ComputeModel& model = found.model;
  if (tuned.empty()) {
    if (members.size() == 1) model = members.front();  // however often it was there
    put_on(line, base.target, model.head);
  } else {
    auto [table, head] = merge_members(problem, tuned);
    model.table = std::move(table);
    model.head = std::move(head);
  }
  model.error = held_out_error(found.report.after);
  return found;
}

Result<CommCalibration> calibrate_comm(const CommModels& base, std::span<const CommDataset> data,
                                       const CalibrateOptions& options,
                                       const TrainControl& control) {
  if (!base.features.sees_batch_size()) NEUROSHARD_RETURN_IF_ERROR(check_one_batch_size(data));
  std::int64_t samples = 0;
  for (const CommDataset& dataset : data) {
    if (dataset.devices() < 2) {
      return invalid_input("communication data of " + std::to_string(dataset.devices()) +
                           " devices, expected at least 2: one exchanges nothing");
    }
    samples += std::ssize(dataset.samples);
  }
  NEUROSHARD_RETURN_IF_ERROR(check(samples, options));
  CommCalibration found{base, {}, {}};
  NEUROSHARD_ASSIGN_OR_RETURN(
      found.models.forward,
      calibrate_direction(base, data, CommDirection::kForward, options, control, found.forward));
  NEUROSHARD_ASSIGN_OR_RETURN(
      found.models.backward,
      calibrate_direction(base, data, CommDirection::kBackward, options, control, found.backward));
  return found;
}

}  // namespace neuroshard
