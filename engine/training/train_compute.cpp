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

TrainReport make_report(const ComputeTrainOptions& options, const Split& split, FitResult& result) {
  TrainReport report = begin_report({{"features", options.features},
                                     {"table_widths", describe(options.table_widths)},
                                     {"head_widths", describe(options.head_widths)},
                                     {"target", std::string(to_string(options.target))}},
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
  NEUROSHARD_ASSIGN_OR_RETURN(problem.network, make_network(features.size(), options));
  NEUROSHARD_ASSIGN_OR_RETURN(ComputePool all, pool_datasets(data, features));
  NEUROSHARD_ASSIGN_OR_RETURN(const Split split,
                              split_samples(all.samples.size(), options.fit.train_share,
                                            options.fit.validation_share, options.fit.seed));
  NEUROSHARD_ASSIGN_OR_RETURN(
      problem.scale,
      make_target_scale(pick(all.costs, split.train), options.target, options.fit.target_scale));
  problem.constant = constant_columns(all.features, features.size());
  Scaling scaling = make_scaling(all.features, features.size());
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
  training.report = make_report(options, split, result);
  // Of the finished model, folded scales and all: what anyone who loads it gets.
  NEUROSHARD_ASSIGN_OR_RETURN(
      training.report.test,
      evaluate_compute(training.model, data, ids_by_dataset(all.sizes, split.test)));
  training.model.error = held_out_error(training.report.test);
  return training;
}

}  // namespace neuroshard
