#include "engine/cost_model/validate_models.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "engine/core/cluster.h"
#include "engine/cost_model/capabilities.h"
#include "io/text.h"

namespace neuroshard {
namespace {

std::string weight_shape(int outputs, int inputs) {
  return "[" + std::to_string(outputs) + "," + std::to_string(inputs) + "]";
}

Status check_inputs(const nn::Mlp& mlp, int inputs, const std::string& prefix) {
  if (mlp.depth() == 0) return invalid_input(prefix + "0.weight: missing");
  if (mlp.inputs() == inputs) return {};
  const int outputs = mlp.layer(0).outputs;
  return invalid_input(prefix + "0.weight: shape " + weight_shape(outputs, mlp.inputs()) +
                       ", expected " + weight_shape(outputs, inputs));
}

Status check_outputs(const nn::Mlp& mlp, int outputs, const std::string& prefix) {
  if (mlp.outputs() == outputs) return {};
  const std::size_t last = mlp.depth() - 1;
  const int inputs = mlp.layer(last).inputs;
  return invalid_input(prefix + std::to_string(last) + ".weight: shape " +
                       weight_shape(mlp.outputs(), inputs) + ", expected " +
                       weight_shape(outputs, inputs));
}

Status check_vector(const std::vector<float>& values, std::size_t size, const std::string& name) {
  if (values.size() != size) {
    return invalid_input(name + ": shape [" + std::to_string(values.size()) + "], expected [" +
                         std::to_string(size) + "]");
  }
  return {};
}

Status check_scaling(const Scaling& scaling, int inputs, const std::string& prefix) {
  const auto size = static_cast<std::size_t>(inputs);
  NEUROSHARD_RETURN_IF_ERROR(check_vector(scaling.mean, size, prefix + "feature_mean"));
  NEUROSHARD_RETURN_IF_ERROR(check_vector(scaling.std, size, prefix + "feature_std"));
  for (std::size_t k = 0; k < size; ++k) {
    if (scaling.std[k] > 0 && std::isfinite(scaling.std[k])) continue;
    return invalid_input(prefix + "feature_std: value " + std::to_string(k) + " is " +
                         std::to_string(scaling.std[k]) + ", expected above 0");
  }
  return {};
}

Status check_direction(const CommModel& model, int inputs, int outputs, const std::string& prefix) {
  NEUROSHARD_RETURN_IF_ERROR(check_scaling(model.scaling, inputs, prefix));
  NEUROSHARD_RETURN_IF_ERROR(check_inputs(model.mlp, inputs, prefix));
  return check_outputs(model.mlp, outputs, prefix);
}

}  // namespace

Status validate(const ComputeModel& model) {
  const int features = model.features.size();
  if (features == 0) return invalid_input("compute_features: empty, expected at least one feature");
  if (model.row_parts < 1 || model.row_parts > kMaxDevices) {
    return invalid_input("row_parts: found " + std::to_string(model.row_parts) +
                         ", expected 1 to " + std::to_string(kMaxDevices));
  }
  NEUROSHARD_RETURN_IF_ERROR(check_scaling(model.scaling, features, "compute."));
  NEUROSHARD_RETURN_IF_ERROR(check_inputs(model.table, features, "compute.table."));
  NEUROSHARD_RETURN_IF_ERROR(check_inputs(model.head, model.table.outputs(), "compute.head."));
  if (model.head.depth() != 2) {
    return invalid_input("compute.head: " + std::to_string(model.head.depth()) +
                         " layers, expected 2");
  }
  if (model.head.layer(0).activation != nn::Activation::kRelu ||
      model.head.layer(1).activation != nn::Activation::kNone) {
    return invalid_input("compute.head: expected a ReLU after its first layer only");
  }
  return check_outputs(model.head, 1, "compute.head.");
}

Status validate(const CommModels& models) {
  if (models.forward.target != models.backward.target) {
    return invalid_input("comm_target: expected the same for both directions");
  }
  int forward_inputs = models.features.forward_size();
  int backward_inputs = models.features.backward_size();
  int outputs = 1;
  if (models.architecture == CommArchitecture::kFixedDevices) {
    if (models.devices < 1 || models.devices > kMaxDevices) {
      return invalid_input("devices: found " + std::to_string(models.devices) + ", expected 1 to " +
                           std::to_string(kMaxDevices));
    }
    forward_inputs = 2 * models.devices;
    backward_inputs = outputs = models.devices;
  } else if (backward_inputs == 0) {
    return invalid_input("comm_features: empty, expected at least one feature");
  }
  NEUROSHARD_RETURN_IF_ERROR(
      check_direction(models.forward, forward_inputs, outputs, "forward_comm."));
  return check_direction(models.backward, backward_inputs, outputs, "backward_comm.");
}

Status validate(const CostModels& models) {
  if (models.batch_size < 1) {
    return invalid_input("batch_size: found " + std::to_string(models.batch_size) +
                         ", expected at least 1");
  }
  if (models.min_batch_size < 0 || models.min_batch_size > models.batch_size) {
    return invalid_input("min_batch_size: found " + std::to_string(models.min_batch_size) +
                         ", expected 1 to batch_size, " + std::to_string(models.batch_size));
  }
  for (const ModelOrigin* origin : {&models.compute_origin, &models.comm_origin}) {
    // What a terminal obeys: a simulated model could pose as a measured one.
    if (io::printable(origin->hardware) != origin->hardware) {
      return invalid_input("hardware: found " + io::excerpt(origin->hardware) +
                           ", expected text without control characters");
    }
    if (!origin->published || io::printable(origin->published->basis) == origin->published->basis) {
      continue;
    }
    return invalid_input("published_basis: found " + io::excerpt(origin->published->basis) +
                         ", expected text without control characters");
  }
  if (models.cost_unit != "ms") {
    return invalid_input("cost_unit: found '" + models.cost_unit + "', expected 'ms'");
  }
  if (models.compute) NEUROSHARD_RETURN_IF_ERROR(validate(*models.compute));
  if (models.comm) NEUROSHARD_RETURN_IF_ERROR(validate(*models.comm));
  return {};
}

std::string describe_batch_sizes(const CostModels& models) {
  const Capabilities known = capabilities(models);
  const std::string most = std::to_string(known.max_batch_size);
  const bool one = known.min_batch_size == known.max_batch_size;
  return one ? most : std::to_string(known.min_batch_size) + " to " + most;
}

Status check_batch_size(const CostModels& models, std::int64_t batch_size) {
  const Capabilities known = capabilities(models);
  if (batch_size >= known.min_batch_size && batch_size <= known.max_batch_size) return {};
  const bool one = known.min_batch_size == known.max_batch_size;
  return invalid_input("the cost models are for batch " + std::string(one ? "size " : "sizes ") +
                       describe_batch_sizes(models) + ", found " + std::to_string(batch_size));
}

}  // namespace neuroshard
