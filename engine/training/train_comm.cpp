#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "engine/cost_model/comm_features.h"
#include "engine/training/comm_rows.h"
#include "engine/training/evaluate.h"
#include "engine/training/fit.h"
#include "engine/training/inputs.h"
#include "engine/training/merge_members.h"
#include "engine/training/train.h"

namespace neuroshard {
namespace {

// A column with few values, such as the number of devices in the data, says nothing about what lies
// between them; at full size it would bend the network there at random. Trained on made-up data of
// 4 and 8 devices that does not depend on their number, the error at 6 devices was 35 % without
// this and below 0.1 % with it.
void damp_rare_values(std::span<const float> values, Scaling& scaling) {
  constexpr std::size_t kFew = 8;
  constexpr float kDamping = 5;
  const std::size_t columns = scaling.std.size();
  for (std::size_t column = 0; column < columns; ++column) {
    std::set<float> distinct;
    for (std::size_t i = column; i < values.size() && distinct.size() <= kFew; i += columns) {
      distinct.insert(values[i]);
    }
    if (distinct.size() <= kFew) scaling.std[column] *= kDamping;
  }
}

// Twice the columns and starts take nearly twice as long, and costs span five orders of magnitude.
// Around 0 instead of their mean, and with biases that begin with 0, a network's kinks go through
// exchanges of every size. Of 8 devices one that learned from them alone was 0.4 % off forward and
// 0.02 % backward instead of 1.3 and 0.35 % (h200_sim, 100 epochs). Not where values differ by
// little, as the volume of the same tables in other places: so far from 0 they would all be alike.
void keep_proportions(const std::vector<bool>& proportional, Scaling& scaling) {
  constexpr float kLeastSpread = 0.1f;  // of the mean
  for (std::size_t column = 0; column < proportional.size(); ++column) {
    const bool differ = scaling.std[column] >= kLeastSpread * std::abs(scaling.mean[column]);
    if (proportional[column] && differ) scaling.mean[column] = 0;
  }
}

Result<FitProblem> make_problem(CommRows rows, const CommTrainOptions& options,
                                const std::vector<bool>& proportional, const Split& split,
                                Scaling& scaling) {
  const bool pooled = options.architecture == CommArchitecture::kPooledDevices;
  FitProblem problem;
  std::vector<int> widths = {rows.width};
  widths.insert(widths.end(), options.hidden_widths.begin(), options.hidden_widths.end());
  widths.push_back(rows.outputs);
  problem.network.head = nn::dense_stack(widths, nn::Activation::kNone);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Split> own,
                              rotate_validation(split, options.fit.members));
  for (const Split& part : own) {
    std::vector<std::int32_t> validation = rows_of(rows, part.validation);
    std::vector<double> measured = pick_rows(rows.costs, rows.outputs, validation);
    problem.parts.push_back(
        {rows_of(rows, part.train), std::move(validation), std::move(measured)});
  }
  // Several members learn, between them, from all that is not the test part: what only the first
  // one has not seen may differ there.
  std::vector<std::int32_t> learned = problem.parts.front().train;
  if (own.size() > 1) {
    const std::vector<std::int32_t>& rest = problem.parts.front().validation;
    learned.insert(learned.end(), rest.begin(), rest.end());
  }
  NEUROSHARD_ASSIGN_OR_RETURN(
      problem.scale, make_target_scale(pick_rows(rows.costs, rows.outputs, learned),
                                       CostTarget::kMilliseconds, options.fit.target_scale));
  const std::vector<float> seen = pick_rows(rows.inputs, rows.width, learned);
  problem.constant = constant_columns(seen, rows.width);
  scaling = make_scaling(seen, rows.width);
  if (pooled) damp_rare_values(seen, scaling);
  keep_proportions(proportional, scaling);
  problem.zero_biases = pooled;
  apply_scaling(scaling, rows.inputs);
  problem.features = std::move(rows.inputs);
  add_targets(rows, problem);
  return problem;
}

Result<CommModel> fit_direction(std::span<const CommDataset> data, const CommModels& models,
                                CommDirection direction, const CommTrainOptions& options,
                                const Split& split, const TrainControl& control,
                                TrainReport& report) {
  CommModel model;
  const bool forward = direction == CommDirection::kForward;
  NEUROSHARD_ASSIGN_OR_RETURN(
      const FitProblem problem,
      make_problem(make_rows(data, models, direction), options,
                   models.features.proportional(forward), split, model.scaling));
  NEUROSHARD_ASSIGN_OR_RETURN(FitResult result, fit(problem, options.fit, control,
                                                    forward ? "train forward" : "train backward"));
  model.mlp = merge_heads(problem, result.parameters);
  report.curve = std::move(result.curve);
  report.best_epoch = result.best_epoch;
  report.validation = result.validation;
  return model;
}

Status check(std::span<const CommDataset> data, const CommTrainOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(validate(options.fit));
  NEUROSHARD_RETURN_IF_ERROR(check_widths(options.hidden_widths, "hidden widths"));
  for (const CommDataset& dataset : data) {
    if (dataset.samples.empty()) {
      return invalid_input("communication data without samples, expected at least one");
    }
    const bool differs = dataset.devices() != data.front().devices();
    if (options.architecture == CommArchitecture::kFixedDevices && differs) {
      return invalid_input("communication data of " + std::to_string(data.front().devices()) +
                           " and " + std::to_string(dataset.devices()) +
                           " devices: fixed-devices-mlp takes one device count, "
                           "pooled-devices-mlp any");
    }
  }
  return {};
}

}  // namespace

Result<CommTraining> train_comm(std::span<const CommDataset> data, const CommTrainOptions& options,
                                const TrainControl& control) {
  NEUROSHARD_RETURN_IF_ERROR(check(data, options));
  CommTraining training;
  CommModels& models = training.models;
  models.architecture = options.architecture;
  if (options.architecture == CommArchitecture::kPooledDevices) {
    NEUROSHARD_ASSIGN_OR_RETURN(models.features, CommFeatureSet::parse(options.features));
    for (const CommDataset& dataset : data) {
      const std::int32_t devices = dataset.devices();
      models.max_devices = std::max(models.max_devices, devices);
      models.min_devices =
          models.min_devices == 0 ? devices : std::min(models.min_devices, devices);
    }
  } else if (!data.empty()) {
    models.devices = data.front().devices();
  }
  if (!models.features.sees_batch_size()) NEUROSHARD_RETURN_IF_ERROR(check_one_batch_size(data));
  std::vector<std::int64_t> sizes;
  std::int64_t count = 0;
  for (const CommDataset& dataset : data) {
    sizes.push_back(static_cast<std::int64_t>(dataset.samples.size()));
    count += sizes.back();
  }
  NEUROSHARD_ASSIGN_OR_RETURN(
      const Split split, split_samples(count, options.fit.train_share, options.fit.validation_share,
                                       options.fit.seed));
  training.forward = training.backward =
      begin_report({{"architecture", std::string(to_string(options.architecture))},
                    {"features", options.features},
                    {"hidden_widths", describe(options.hidden_widths)}},
                   options.fit, split);
  NEUROSHARD_ASSIGN_OR_RETURN(
      models.forward, fit_direction(data, models, CommDirection::kForward, options, split, control,
                                    training.forward));
  NEUROSHARD_ASSIGN_OR_RETURN(models.backward,
                              fit_direction(data, models, CommDirection::kBackward, options, split,
                                            control, training.backward));
  const IdParts test = ids_by_dataset(sizes, split.test);
  NEUROSHARD_ASSIGN_OR_RETURN(training.forward.test,
                              evaluate_comm(models, CommDirection::kForward, data, test));
  NEUROSHARD_ASSIGN_OR_RETURN(training.backward.test,
                              evaluate_comm(models, CommDirection::kBackward, data, test));
  models.forward.error = held_out_error(training.forward.test);
  models.backward.error = held_out_error(training.backward.test);
  return training;
}

}  // namespace neuroshard
