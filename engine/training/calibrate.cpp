#include "engine/training/calibrate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/core/rng.h"
#include "engine/training/comm_rows.h"
#include "engine/training/evaluate.h"
#include "engine/training/fit.h"
#include "engine/training/inputs.h"
#include "engine/training/merge_members.h"

namespace neuroshard {
namespace {

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
  if (options.folds < 2 || options.folds > 16 || options.learning_rates.empty()) {
    return invalid_input("folds: found " + std::to_string(options.folds) +
                         ", expected 2 to 16, and at least one learning rate");
  }
  return {};
}

/// measured = factor x predicted + offset, roughly.
struct Line {
  double factor = 1;
  double offset = 0;
};

/// The line with the least squares of relative errors: other hardware has another speed and other
/// fixed costs. A factor alone where a line would fall, or where costs are learned by logarithms.
Line line_between(std::span<const double> predicted, std::span<const double> measured,
                  CostTarget target) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!(predicted[i] > 0 && measured[i] > 0)) continue;
    const double weight = 1 / (measured[i] * measured[i]);
    n += weight;
    x += weight * predicted[i];
    y += weight * measured[i];
    xx += weight * predicted[i] * predicted[i];
    xy += weight * predicted[i] * measured[i];
  }
  if (!(n > 0)) return {};
  const double spread = n * xx - x * x;
  const double factor = (n * xy - x * y) / spread;
  const bool rises = target == CostTarget::kMilliseconds && spread > 0 && factor > 0;
  return rises ? Line{factor, (y - factor * x) / n} : Line{xy / xx, 0};
}

/// A last layer that says ms, or log ms, as one that says what the line makes of that, in learned
/// units.
void unfold(const TargetScale& scale, const Line& line, nn::Mlp& last) {
  const std::size_t layer = last.depth() - 1;
  if (scale.target == CostTarget::kLogMilliseconds) {
    for (float& b : last.bias(layer)) {
      b += static_cast<float>(std::log(line.factor) - scale.shift);
    }
    return;
  }
  for (float& w : last.weight(layer)) w = static_cast<float>(w * line.factor / scale.unit);
  for (float& b : last.bias(layer)) {
    b = static_cast<float>((b * line.factor + line.offset) / scale.unit);
  }
}

std::vector<float> parameters_of(std::initializer_list<const nn::Mlp*> networks) {
  std::vector<float> parameters;
  for (const nn::Mlp* mlp : networks) {
    parameters.insert(parameters.end(), mlp->parameters().begin(), mlp->parameters().end());
  }
  return parameters;
}

/// Trains on from problem.start with each learning rate; the weights of the members that did best.
Result<std::vector<std::vector<float>>> tune(const FitProblem& problem,
                                             const CalibrateOptions& options,
                                             const TrainControl& control, std::string_view phase,
                                             CalibrationReport& report) {
  std::vector<std::vector<float>> best;
  for (const double rate : options.learning_rates) {
    FitOptions fit_options = options.fit;
    fit_options.members = options.folds;
    fit_options.learning_rate = rate;
    NEUROSHARD_ASSIGN_OR_RETURN(FitResult result, fit(problem, fit_options, control, phase));
    if (!best.empty() && !(result.validation.mse < report.after.mse)) continue;
    report.after = result.validation;
    report.learning_rate = rate;
    report.epochs = result.best_epoch;
    best = std::move(result.parameters);
  }
  return best;
}

Result<CommModel> calibrate_direction(const CommModels& base, std::span<const CommDataset> data,
                                      CommDirection direction, const CalibrateOptions& options,
                                      const TrainControl& control, CalibrationReport& report) {
  const bool forward = direction == CommDirection::kForward;
  const CommModel& old = forward ? base.forward : base.backward;
  CommRows rows = make_rows(data, base, direction);
  std::vector<double> predicted;
  for (const CommDataset& dataset : data) {
    NEUROSHARD_ASSIGN_OR_RETURN(
        const std::vector<double> own,
        predict_comm(base, direction, dataset, all_ids(dataset.samples.size())));
    predicted.insert(predicted.end(), own.begin(), own.end());
  }
  report.before = measure_fit(predicted, rows.costs);
  FitProblem problem;
  problem.network.head = layers_of(old.mlp);
  problem.constant.assign(static_cast<std::size_t>(rows.width), false);
  NEUROSHARD_ASSIGN_OR_RETURN(problem.scale,
                              make_target_scale(rows.costs, old.target, options.fit.target_scale));
  const std::vector<std::int32_t> fold =
      deal_out(rows.first_row.size() - 1, options.folds, options.fit.seed);
  for (std::int32_t k = 0; k < options.folds; ++k) {
    std::vector<std::int32_t> train;
    std::vector<std::int32_t> validation;
    for (std::size_t i = 0; i < fold.size(); ++i) {
      (fold[i] == k ? validation : train).push_back(static_cast<std::int32_t>(i));
    }
    validation = rows_of(rows, validation);
    std::vector<double> measured = pick_rows(rows.costs, rows.outputs, validation);
    problem.parts.push_back({rows_of(rows, train), std::move(validation), std::move(measured)});
  }
  apply_scaling(old.scaling, rows.inputs);
  problem.features = std::move(rows.inputs);
  add_targets(rows, problem);
  CommModel model = old;
  unfold(problem.scale, line_between(predicted, rows.costs, old.target), model.mlp);
  problem.start = parameters_of({&model.mlp});
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::vector<float>> tuned,
                              tune(problem, options, control,
                                   forward ? "calibrate forward" : "calibrate backward", report));
  model.mlp = merge_heads(problem, tuned);
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
  ComputeCalibration found{base, {}};
  std::vector<double> predicted;
  for (const ComputeDataset& dataset : data) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> own,
                                predict_compute(base, dataset, all_ids(dataset.samples.size())));
    predicted.insert(predicted.end(), own.begin(), own.end());
  }
  found.report.before = measure_fit(predicted, all.costs);
  FitProblem problem;
  problem.network = {layers_of(base.table), layers_of(base.head)};
  problem.constant.assign(static_cast<std::size_t>(base.features.size()), false);
  NEUROSHARD_ASSIGN_OR_RETURN(problem.scale,
                              make_target_scale(all.costs, base.target, options.fit.target_scale));
  const std::vector<std::int32_t> fold =
      deal_out(all.costs.size(), options.folds, options.fit.seed);
  for (std::int32_t k = 0; k < options.folds; ++k) {
    FitPart part;
    for (std::size_t i = 0; i < fold.size(); ++i) {
      (fold[i] == k ? part.validation : part.train).push_back(static_cast<std::int32_t>(i));
      if (fold[i] == k) part.validation_ms.push_back(all.costs[i]);
    }
    problem.parts.push_back(std::move(part));
  }
  apply_scaling(base.scaling, all.features);
  problem.features = std::move(all.features);
  for (const double cost : all.costs) {
    all.samples.targets.push_back(static_cast<float>(problem.scale.learned(cost)));
  }
  problem.samples = std::move(all.samples);
  ComputeModel& model = found.model;
  unfold(problem.scale, line_between(predicted, all.costs, base.target), model.head);
  problem.start = parameters_of({&model.table, &model.head});
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::vector<float>> tuned,
                              tune(problem, options, control, "calibrate compute", found.report));
  auto [table, head] = merge_members(problem, tuned);
  model.table = std::move(table);
  model.head = std::move(head);
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
