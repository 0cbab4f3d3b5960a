#include <algorithm>
#include <string>
#include <utility>

#include "engine/training/evaluate.h"
#include "engine/training/fit.h"
#include "engine/training/inputs.h"
#include "engine/training/merge_members.h"
#include "engine/training/train.h"

namespace neuroshard {
namespace {

/// Columns of the widest table of the data sets' pools.
std::int32_t widest_of(std::span<const ComputeDataset> data) {
  std::int32_t widest = 1;
  for (const ComputeDataset& one : data) {
    for (const Table& table : one.pool) widest = std::max(widest, table.dim);
  }
  return widest;
}

Result<nn::SetNetworkSpec> make_network(int inputs, const ComputeTrainOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_widths(options.table_widths, "table widths"));
  NEUROSHARD_RETURN_IF_ERROR(check_widths(options.head_widths, "head widths"));
  if (options.table_widths.empty() || options.head_widths.size() != 1) {
    return invalid_input("widths: found " + std::to_string(options.table_widths.size()) +
                         " table layers and " + std::to_string(options.head_widths.size()) +
                         " hidden head layers, expected at least 1 and exactly 1");
  }
  std::vector<int> table = {inputs};
  table.insert(table.end(), options.table_widths.begin(), options.table_widths.end());
  const int head[] = {table.back(), options.head_widths.front(), 1};
  return nn::SetNetworkSpec{nn::dense_stack(table, nn::Activation::kRelu),
                            nn::dense_stack(head, nn::Activation::kNone)};
}

/// The network of `start`, and inputs that it lacks.
nn::SetNetworkSpec widened(const ComputeModel& start, int inputs) {
  nn::SetNetworkSpec network{layers_of(start.table), layers_of(start.head)};
  network.encoder.front().inputs = inputs;
  return network;
}

/// Its weights, in learned units; those of the inputs that it lacks are 0.
std::vector<float> widened_parameters(const ComputeModel& start, const FitProblem& problem) {
  nn::Mlp table(problem.network.encoder);
  const auto known = static_cast<std::size_t>(start.table.inputs());
  const auto inputs = static_cast<std::size_t>(table.inputs());
  const std::span<const float> weight = start.table.weight(0);
  for (std::size_t at = 0; at < weight.size(); ++at) {
    table.weight(0)[at / known * inputs + at % known] = weight[at];
  }
  const std::span<const float> rest =
      start.table.parameters().subspan(start.table.weight(0).size());
  std::copy(rest.begin(), rest.end(),
            table.parameters().begin() + static_cast<std::ptrdiff_t>(table.weight(0).size()));
  nn::Mlp head = start.head;
  problem.scale.unfold(head);
  std::vector<float> parameters(table.parameters().begin(), table.parameters().end());
  parameters.insert(parameters.end(), head.parameters().begin(), head.parameters().end());
  return parameters;
}

/// Inputs that `start` has are scaled as it scales them. One that it lacks was 0 in all data that
/// it has learned, and has to stay 0 there. One that was the same in all of that data has no
/// weights yet: it gets the deviation that it has now.
Scaling widened_scaling(const ComputeModel& start, const FitProblem& problem, Scaling scaling) {
  for (std::size_t k = start.scaling.mean.size(); k < scaling.mean.size(); ++k) {
    if (!problem.constant[k]) scaling.mean[k] = 0;
  }
  for (std::size_t k = 0; k < start.scaling.mean.size(); ++k) {
    scaling.mean[k] = start.scaling.mean[k];
    if (start.scaling.std[k] > 2 * kLeastDeviation) scaling.std[k] = start.scaling.std[k];
  }
  return scaling;
}

Status check_start(const ComputeTrainOptions& options) {
  const std::string known = options.start->features.to_string();
  if ((options.features + ",").starts_with(known + ",")) return {};
  return invalid_input("features: found " + options.features + ", expected to begin with " + known +
                       " as those of the start");
}

std::vector<double> pick(std::span<const double> values, std::span<const std::int32_t> ids) {
  std::vector<double> picked;
  for (const std::int32_t id : ids) picked.push_back(values[static_cast<std::size_t>(id)]);
  return picked;
}

ComputeModel make_model(FeatureSet features, Scaling scaling, const FitProblem& problem,
                        const std::vector<std::vector<float>>& members) {
  ComputeModel model;
  model.features = std::move(features);
  model.scaling = std::move(scaling);
  auto [table, head] = merge_members(problem, members);
  model.table = std::move(table);
  model.head = std::move(head);
  model.target = problem.scale.target;
  return model;
}

std::vector<int> outputs_of(std::span<const nn::DenseSpec> layers) {
  std::vector<int> outputs;
  for (const nn::DenseSpec& layer : layers) outputs.push_back(layer.outputs);
  return outputs;
}

TrainReport make_report(const ComputeTrainOptions& options, const FitProblem& problem,
                        const Split& split, FitResult& result) {
  const std::span head(problem.network.head);
  TrainReport report =
      begin_report({{"features", options.features},
                    {"table_widths", describe(outputs_of(problem.network.encoder))},
                    {"head_widths", describe(outputs_of(head.first(head.size() - 1)))},
                    {"target", std::string(to_string(problem.scale.target))}},
                   options.fit, split);
  report.curve = std::move(result.curve);
  report.best_epoch = result.best_epoch;
  report.validation = result.validation;
  return report;
}

}  // namespace

Result<ComputeTraining> train_compute(std::span<const ComputeDataset> data,
                                      const ComputeTrainOptions& options,
                                      const TrainControl& control) {
  NEUROSHARD_RETURN_IF_ERROR(validate(options.fit));
  NEUROSHARD_ASSIGN_OR_RETURN(FeatureSet features, FeatureSet::parse(options.features));
  if (!features.sees_batch_size()) NEUROSHARD_RETURN_IF_ERROR(check_one_batch_size(data));
  FitProblem problem;
  if (options.start != nullptr) {
    NEUROSHARD_RETURN_IF_ERROR(check_start(options));
    problem.network = widened(*options.start, features.size());
  } else {
    NEUROSHARD_ASSIGN_OR_RETURN(problem.network, make_network(features.size(), options));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(ComputePool all, pool_datasets(data, features));
  NEUROSHARD_ASSIGN_OR_RETURN(const Split split,
                              split_samples(all.samples.size(), options.fit.train_share,
                                            options.fit.validation_share, options.fit.seed));
  NEUROSHARD_ASSIGN_OR_RETURN(
      problem.scale,
      make_target_scale(pick(all.costs, split.train),
                        options.start != nullptr ? options.start->target : options.target,
                        options.fit.target_scale));
  problem.constant = constant_columns(all.features, features.size());
  Scaling scaling = make_scaling(all.features, features.size());
  if (options.start != nullptr) {
    scaling = widened_scaling(*options.start, problem, std::move(scaling));
    problem.starts = {widened_parameters(*options.start, problem)};
  }
  apply_scaling(scaling, all.features);
  problem.features = std::move(all.features);
  for (const double cost : all.costs) {
    all.samples.targets.push_back(static_cast<float>(problem.scale.learned(cost)));
  }
  problem.samples = std::move(all.samples);
  NEUROSHARD_ASSIGN_OR_RETURN(std::vector<Split> own,
                              rotate_validation(split, options.fit.members));
  for (Split& part : own) {
    std::vector<double> measured = pick(all.costs, part.validation);
    problem.parts.push_back(
        {std::move(part.train), std::move(part.validation), std::move(measured)});
  }

  NEUROSHARD_ASSIGN_OR_RETURN(FitResult result,
                              fit(problem, options.fit, control, "train compute"));
  ComputeTraining training;
  training.model = make_model(std::move(features), std::move(scaling), problem, result.parameters);
  // What only some of the data sets know holds for some batch sizes only.
  training.model.row_parts =
      std::min_element(data.begin(), data.end(), [](const auto& a, const auto& b) {
        return a.row_parts < b.row_parts;
      })->row_parts;
  training.model.max_dim = widest_of(data);
  training.report = make_report(options, problem, split, result);
  // Of the finished model, folded scales and all: what anyone who loads it gets.
  NEUROSHARD_ASSIGN_OR_RETURN(
      training.report.test,
      evaluate_compute(training.model, data, ids_by_dataset(all.sizes, split.test)));
  training.model.error = held_out_error(training.report.test);
  return training;
}

}  // namespace neuroshard
