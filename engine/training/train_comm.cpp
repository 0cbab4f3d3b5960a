#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "engine/cost_model/comm_features.h"
#include "engine/training/evaluate.h"
#include "engine/training/fit.h"
#include "engine/training/inputs.h"
#include "engine/training/train.h"
#include "nn/merge.h"

namespace neuroshard {
namespace {

// One direction of the exchanges of all data sets, as rows for a network.
struct Rows {
  int width = 0;
  int outputs = 0;
  std::vector<float> inputs;
  std::vector<double> costs;               // [rows, outputs]
  std::vector<std::int64_t> first_row{0};  // of each exchange, and the end
};

Rows make_rows(std::span<const CommDataset> data, const CommModels& models,
               CommDirection direction) {
  Rows rows;
  for (const CommDataset& dataset : data) {
    const std::vector<std::int32_t> ids = all_ids(dataset.samples.size());
    const CommInputs inputs =
        comm_inputs(models.architecture, models.features, direction, dataset, ids);
    const std::vector<double> costs = comm_costs(direction, dataset, ids);
    rows.width = inputs.width;
    rows.outputs = static_cast<int>(dataset.devices() / inputs.rows_per_exchange);
    rows.inputs.insert(rows.inputs.end(), inputs.values.begin(), inputs.values.end());
    rows.costs.insert(rows.costs.end(), costs.begin(), costs.end());
    for (std::size_t k = 0; k < ids.size(); ++k) {
      rows.first_row.push_back(rows.first_row.back() + inputs.rows_per_exchange);
    }
  }
  return rows;
}

// An exchange goes whole into one part of the split, whatever number of rows it has.
std::vector<std::int32_t> rows_of(const Rows& rows, std::span<const std::int32_t> exchanges) {
  std::vector<std::int32_t> ids;
  for (const std::int32_t exchange : exchanges) {
    const auto at = static_cast<std::size_t>(exchange);
    for (std::int64_t row = rows.first_row[at]; row < rows.first_row[at + 1]; ++row) {
      ids.push_back(static_cast<std::int32_t>(row));
    }
  }
  return ids;
}

template <typename T>
std::vector<T> pick_rows(const std::vector<T>& values, int width,
                         std::span<const std::int32_t> ids) {
  std::vector<T> picked;
  picked.reserve(ids.size() * static_cast<std::size_t>(width));
  for (const std::int32_t id : ids) {
    const auto begin = values.begin() + std::int64_t{id} * width;
    picked.insert(picked.end(), begin, begin + width);
  }
  return picked;
}

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

Result<FitProblem> make_problem(Rows rows, const CommTrainOptions& options, const Split& split,
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
  apply_scaling(scaling, rows.inputs);
  problem.features = std::move(rows.inputs);
  const auto outputs = static_cast<std::size_t>(rows.outputs);
  std::vector<float> targets(outputs);
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(rows.first_row.back()); ++row) {
    for (std::size_t k = 0; k < outputs; ++k) {
      targets[k] = static_cast<float>(
          problem.scale.learned(rows.costs[static_cast<std::size_t>(row) * outputs + k]));
    }
    problem.samples.add({&row, 1}, targets);
  }
  return problem;
}

Result<CommModel> fit_direction(std::span<const CommDataset> data, const CommModels& models,
                                CommDirection direction, const CommTrainOptions& options,
                                const Split& split, const TrainControl& control,
                                TrainReport& report) {
  CommModel model;
  NEUROSHARD_ASSIGN_OR_RETURN(
      const FitProblem problem,
      make_problem(make_rows(data, models, direction), options, split, model.scaling));
  const bool forward = direction == CommDirection::kForward;
  NEUROSHARD_ASSIGN_OR_RETURN(FitResult result, fit(problem, options.fit, control,
                                                    forward ? "train forward" : "train backward"));
  std::vector<nn::Mlp> members;
  for (const std::vector<float>& parameters : result.parameters) {
    nn::Mlp& member = members.emplace_back(problem.network.head);
    std::copy(parameters.begin(), parameters.end(), member.parameters().begin());
  }
  model.mlp = nn::average_of(members, false);
  problem.scale.fold_into(model.mlp);
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
