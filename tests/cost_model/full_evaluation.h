#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/core/plan.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard::test {

/// A plan's cost as DESIGN section 4 writes it, in double, from the models' own weights: every
/// shard is encoded, the encodings are summed, the whole head runs. Shares no code with what it
/// checks, but for the named features.
class FullEvaluation {
 public:
  FullEvaluation(const CostModels& models, const Workload& workload)
      : models_(models), workload_(workload) {}

  PlanCost evaluate(const Plan& plan) const {
    const auto devices = static_cast<std::size_t>(plan.devices);
    PlanCost cost;
    cost.per_device.resize(devices);
    std::vector<double> dims(devices);
    for (std::size_t d = 0; d < devices; ++d) {
      cost.per_device[d].compute_ms = compute(plan, static_cast<std::int32_t>(d));
    }
    for (const Shard& shard : plan.shards)
      dims[static_cast<std::size_t>(shard.device)] += shard.dim();
    const std::vector<double> backward = costs(models_.comm->backward, dims, {});
    std::vector<double> starts(devices);
    for (std::size_t d = 0; d < devices; ++d) {
      starts[d] = cost.per_device[d].compute_ms + backward[d];
    }
    const double least = *std::min_element(starts.begin(), starts.end());
    for (double& start : starts) start -= least;
    const std::vector<double> forward = costs(models_.comm->forward, dims, starts);
    cost.cost_ms = -1e300;
    for (std::size_t d = 0; d < devices; ++d) {
      cost.per_device[d].backward_comm_ms = backward[d];
      cost.per_device[d].forward_comm_ms = forward[d];
      cost.per_device[d].dim_sum = static_cast<std::int64_t>(dims[d]);
      cost.cost_ms = std::max(cost.cost_ms, cost.per_device[d].total_ms());
    }
    return cost;
  }

  /// The backward exchange of each device.
  std::vector<double> backward(const std::vector<float>& dims) const {
    return costs(models_.comm->backward, {dims.begin(), dims.end()}, {});
  }

 private:
  static double milliseconds(double output, CostTarget target) {
    return target == CostTarget::kMilliseconds ? output : std::exp(output);
  }

  static std::vector<double> forward_pass(const nn::Mlp& mlp, std::vector<double> in) {
    for (std::size_t k = 0; k < mlp.depth(); ++k) {
      std::vector<double> out;
      for (int o = 0; o < mlp.layer(k).outputs; ++o) {
        double sum = mlp.bias(k)[static_cast<std::size_t>(o)];
        for (std::size_t i = 0; i < in.size(); ++i) {
          sum += in[i] * mlp.weight(k)[static_cast<std::size_t>(o) * in.size() + i];
        }
        out.push_back(mlp.layer(k).activation == nn::Activation::kRelu ? std::max(sum, 0.0) : sum);
      }
      in = out;
    }
    return in;
  }

  static std::vector<double> scaled(std::vector<double> values, const Scaling& scaling) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = (values[k] - scaling.mean[k]) / scaling.std[k];
    }
    return values;
  }

  std::vector<double> costs(const CommModel& model, const std::vector<double>& dims,
                            const std::vector<double>& starts) const {
    std::vector<double> outputs;
    if (models_.comm->architecture == CommArchitecture::kFixedDevices) {
      std::vector<double> inputs = dims;
      inputs.insert(inputs.end(), starts.begin(), starts.end());
      outputs = forward_pass(model.mlp, scaled(inputs, model.scaling));
    } else if (dims.size() == 1) {
      return {0};  // nobody to exchange anything with
    } else {
      const std::vector<float> own(dims.begin(), dims.end());
      const std::vector<float> own_starts(starts.begin(), starts.end());
      const auto width = static_cast<std::size_t>(model.mlp.inputs());
      std::vector<float> rows(dims.size() * width);
      models_.comm->features.compute({own, own_starts, workload_.batch_size}, rows);
      for (auto row = rows.begin(); row != rows.end(); row += model.mlp.inputs()) {
        outputs.push_back(
            forward_pass(model.mlp, scaled({row, row + model.mlp.inputs()}, model.scaling))[0]);
      }
    }
    for (double& output : outputs) output = milliseconds(output, model.target);
    return outputs;
  }

  [[nodiscard]] double compute(const Plan& plan, std::int32_t device) const {
    const ComputeModel& model = *models_.compute;
    std::vector<double> sum(static_cast<std::size_t>(model.table.outputs()));
    std::vector<float> features(static_cast<std::size_t>(model.features.size()));
    for (const Shard& shard : plan.shards) {
      if (shard.device != device) continue;
      const Table& table = workload_.tables[static_cast<std::size_t>(shard.table)];
      model.features.compute({table, shape_of(shard), workload_.batch_size}, features);
      const std::vector<double> encoding =
          forward_pass(model.table, scaled({features.begin(), features.end()}, model.scaling));
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += encoding[k];
    }
    return milliseconds(forward_pass(model.head, sum)[0], model.target);
  }

  const CostModels& models_;
  const Workload& workload_;
};

}  // namespace neuroshard::test
