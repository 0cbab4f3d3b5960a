#include "engine/training/evaluate.h"

#include <cmath>
#include <string>
#include <utility>

#include "engine/training/fit.h"
#include "engine/training/inputs.h"
#include "nn/set_network.h"
#include "nn/trainer.h"

namespace neuroshard {
namespace {

std::vector<double> to_costs(std::span<const float> outputs, CostTarget target) {
  std::vector<double> costs;
  costs.reserve(outputs.size());
  for (const float output : outputs) costs.push_back(milliseconds_of(output, target));
  return costs;
}

const CommModel& half(const CommModels& models, CommDirection direction) {
  return direction == CommDirection::kForward ? models.forward : models.backward;
}

std::optional<double> interval_of(const std::optional<HeldOutError>& error) {
  return error ? std::optional(error->share) : std::nullopt;
}

Metrics judge(const std::optional<HeldOutError>& error, std::span<const double> predicted,
              std::span<const double> measured) {
  Metrics metrics = measure_fit(predicted, measured);
  judge_interval(interval_of(error), predicted, measured, metrics);
  return metrics;
}

template <typename Dataset>
IdParts all_samples(std::span<const Dataset> data) {
  IdParts ids;
  for (const Dataset& dataset : data) ids.push_back(all_ids(dataset.samples.size()));
  return ids;
}

}  // namespace

Result<std::vector<double>> predict_compute(const ComputeModel& model,
                                            const ComputeDataset& dataset,
                                            std::span<const std::int32_t> ids) {
  std::vector<float> features = pool_inputs(model.features, dataset);
  apply_scaling(model.scaling, features);
  nn::SetSamples samples;
  NEUROSHARD_RETURN_IF_ERROR(add_compute_sets(dataset, 0, samples));
  const nn::SetNetworkSpec spec{layers_of(model.table), layers_of(model.head)};
  std::vector<float> parameters(model.table.parameters().begin(), model.table.parameters().end());
  parameters.insert(parameters.end(), model.head.parameters().begin(),
                    model.head.parameters().end());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<float> outputs,
                              run_network(spec, parameters, features, samples, ids));
  return to_costs(outputs, model.target);
}

Result<std::vector<double>> predict_comm(const CommModels& models, CommDirection direction,
                                         const CommDataset& dataset,
                                         std::span<const std::int32_t> ids) {
  const bool fixed = models.architecture == CommArchitecture::kFixedDevices;
  if (fixed && !dataset.samples.empty() && dataset.devices() != models.devices) {
    return invalid_input("communication data of " + std::to_string(dataset.devices()) +
                         " devices, expected " + std::to_string(models.devices) +
                         " as the fixed-devices-mlp was trained for");
  }
  if (ids.empty()) return std::vector<double>();
  // One device exchanges nothing: the engine does not ask networks for any number about it.
  if (!fixed && dataset.devices() == 1) return std::vector<double>(ids.size(), 0.0);
  const CommModel& model = half(models, direction);
  CommInputs inputs = comm_inputs(models.architecture, models.features, direction, dataset, ids);
  apply_scaling(model.scaling, inputs.values);
  nn::SetSamples samples;
  const std::size_t rows = inputs.values.size() / static_cast<std::size_t>(inputs.width);
  const std::vector<std::int32_t> order = all_ids(rows);
  for (const std::int32_t& row : order) samples.add({&row, 1}, {});
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<float> outputs,
                              run_network({{}, layers_of(model.mlp)}, model.mlp.parameters(),
                                          inputs.values, samples, order));
  return to_costs(outputs, model.target);
}

Result<Metrics> evaluate_compute(const ComputeModel& model, std::span<const ComputeDataset> data,
                                 const IdParts& ids) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (std::size_t k = 0; k < data.size(); ++k) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> costs,
                                predict_compute(model, data[k], ids[k]));
    predicted.insert(predicted.end(), costs.begin(), costs.end());
    for (const std::int32_t id : ids[k]) {
      measured.push_back(data[k].samples[static_cast<std::size_t>(id)].cost_ms);
    }
  }
  return judge(model.error, predicted, measured);
}

Result<Metrics> evaluate_compute(const ComputeModel& model, std::span<const ComputeDataset> data) {
  return evaluate_compute(model, data, all_samples(data));
}

Result<Metrics> evaluate_comm(const CommModels& models, CommDirection direction,
                              std::span<const CommDataset> data, const IdParts& ids) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (std::size_t k = 0; k < data.size(); ++k) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> costs,
                                predict_comm(models, direction, data[k], ids[k]));
    predicted.insert(predicted.end(), costs.begin(), costs.end());
    const std::vector<double> real = comm_costs(direction, data[k], ids[k]);
    measured.insert(measured.end(), real.begin(), real.end());
  }
  return judge(half(models, direction).error, predicted, measured);
}

std::optional<HeldOutError> held_out_error(const Metrics& metrics) {
  if (metrics.count == 0 || std::isnan(metrics.half_width)) return std::nullopt;
  return HeldOutError{metrics.count, metrics.half_width, metrics.tau};
}

Result<CommMetrics> evaluate_comm(const CommModels& models, std::span<const CommDataset> data) {
  const IdParts all = all_samples(data);
  CommMetrics metrics;
  NEUROSHARD_ASSIGN_OR_RETURN(metrics.forward,
                              evaluate_comm(models, CommDirection::kForward, data, all));
  NEUROSHARD_ASSIGN_OR_RETURN(metrics.backward,
                              evaluate_comm(models, CommDirection::kBackward, data, all));
  return metrics;
}

}  // namespace neuroshard
