#include "engine/iteration/dense_step.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace neuroshard {
namespace {

constexpr double kWeightBytes = 4;  // weights and states are fp32 whatever they are computed in
constexpr double kCrossForwardPasses = 4;
constexpr double kCrossBackwardPasses = 8;
constexpr double kSmallTile = 32;  // of products of a sample's own vectors

/// Makes the operators of one device's samples.
class Builder {
 public:
  Builder(const DenseModel& model, double samples, const KernelRates& rates)
      : model_(model), samples_(samples), rates_(rates) {}

  /// A network from so many columns on; the name says which. Forward in order, backward reversed.
  double network(const std::string& name, double inputs, const std::vector<std::int32_t>& layers,
                 bool needs_input_gradient, std::vector<DenseOperator>& forward,
                 std::vector<DenseOperator>& backward) {
    std::vector<DenseOperator> reversed;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      const double outputs = layers[layer];
      const std::string own = name + " layer " + std::to_string(layer + 1);
      forward.push_back({own, gemm_ms(rates_, samples_, outputs, inputs), 1, 0});
      reversed.push_back(backward_product(own, inputs, outputs, layer > 0 || needs_input_gradient));
      reversed.back().gradient_bytes += gradient_bytes(outputs);  // of the bias
      parameters_ += outputs;
      inputs = outputs;
    }
    backward.insert(backward.end(), reversed.rbegin(), reversed.rend());
    return inputs;
  }

  void cross_layers(double columns, std::vector<DenseOperator>& forward,
                    std::vector<DenseOperator>& backward) {
    const double rank = model_.cross_rank;
    for (std::int32_t layer = 0; layer < model_.cross_layers; ++layer) {
      const std::string own = "cross layer " + std::to_string(layer + 1);
      // Passes are within few kernels: product with bias, x0 * that + x.
      forward.push_back({own,
                         gemm_ms(rates_, samples_, rank, columns) +
                             gemm_ms(rates_, samples_, columns, rank) +
                             pass_ms(rates_, kCrossForwardPasses * samples_ * columns),
                         3, 0});
      DenseOperator back = backward_product(own, rank, columns, true);
      const DenseOperator first = backward_product(own, columns, rank, true);
      back.ms += first.ms + pass_ms(rates_, kCrossBackwardPasses * samples_ * columns);
      back.kernels += first.kernels + 1;
      back.gradient_bytes += first.gradient_bytes + gradient_bytes(columns);
      parameters_ += columns;
      backward.push_back(std::move(back));
    }
  }

  /// Of every two of `vectors` vectors of a sample.
  void dot_products(double vectors, double columns, std::vector<DenseOperator>& forward,
                    std::vector<DenseOperator>& backward) const {
    const double padded = std::ceil(vectors / kSmallTile) * kSmallTile;
    const double flops = 2 * samples_ * padded * padded * columns;
    const double values = samples_ * (vectors * columns + vectors * vectors);
    const double product = std::max(flops / rates_.flops_per_ms, pass_ms(rates_, values));
    const double chosen = pass_ms(rates_, 2 * samples_ * vectors * (vectors - 1) / 2);
    forward.push_back({"dot products", product + chosen, 2, 0});
    backward.push_back({"dot products", 2 * product + chosen, 3, 0});
  }

  [[nodiscard]] DenseOperator passes(const std::string& name, double passes, double columns) const {
    return {name, pass_ms(rates_, passes * samples_ * columns), 1, 0};
  }

  /// Of all weights: they and their states are read and written, gradients read, and what layers
  /// compute with is written where that is not the weights themselves.
  [[nodiscard]] DenseOperator optimizer() const {
    double bytes = 2 * kWeightBytes + rates_.value_bytes;
    if (model_.optimizer == DenseOptimizer::kAdagrad) bytes += 2 * kWeightBytes;
    if (model_.optimizer == DenseOptimizer::kAdam) bytes += 4 * kWeightBytes;
    if (rates_.value_bytes < kWeightBytes) bytes += rates_.value_bytes;
    return {"dense optimizer", pass_ms(rates_, parameters_ * bytes / rates_.value_bytes), 1, 0};
  }

  [[nodiscard]] double parameters() const { return parameters_; }

 private:
  [[nodiscard]] double gradient_bytes(double weights) const { return weights * rates_.value_bytes; }

  /// Without inputs, as of the dot products of one vector, there is nothing to multiply.
  DenseOperator backward_product(const std::string& name, double inputs, double outputs,
                                 bool input_gradient) {
    if (inputs == 0) return {name, 0, 0, 0};
    DenseOperator made{name, gemm_ms(rates_, inputs, outputs, samples_), 1,
                       gradient_bytes(inputs * outputs)};
    if (input_gradient) {
      made.ms += gemm_ms(rates_, samples_, inputs, outputs);
      made.kernels = 2;
    }
    parameters_ += inputs * outputs;
    return made;
  }

  const DenseModel& model_;
  double samples_;
  const KernelRates& rates_;
  double parameters_ = 0;
};

/// kInvalidInput where a table's columns cannot be multiplied by the bottom network's output, or by
/// those of another one.
Status check_dot(const DenseModel& model, const Workload& workload) {
  const std::int32_t dim = model.bottom.empty() ? workload.tables.front().dim : model.bottom.back();
  for (std::size_t i = 0; i < workload.tables.size(); ++i) {
    if (workload.tables[i].dim == dim) continue;
    return invalid_input(table_label(workload, static_cast<std::int32_t>(i)) + ": found dim " +
                         std::to_string(workload.tables[i].dim) + ", expected the " +
                         std::to_string(dim) +
                         " columns that the model's dot products take of all vectors");
  }
  return {};
}

}  // namespace

Result<DenseStep> make_dense_step(const DenseModel& model, const Workload& workload, double samples,
                                  const KernelRates& rates) {
  if (model.interaction == Interaction::kDot) {
    NEUROSHARD_RETURN_IF_ERROR(check_dot(model, workload));
  }
  Builder builder(model, samples, rates);
  DenseStep step;
  const double bottom = builder.network("bottom", model.dense_features, model.bottom, false,
                                        step.bottom_forward, step.bottom_backward);
  double looked_up = 0;
  double vectors = model.bottom.empty() ? 0 : 1;
  for (const Table& table : workload.tables) {
    looked_up += static_cast<double>(table.dim) * table.features;
    vectors += table.features;
  }
  double columns = bottom + looked_up;
  step.interaction_forward.push_back(builder.passes("side by side", 2, columns));
  if (model.interaction == Interaction::kDcn) {
    builder.cross_layers(columns, step.interaction_forward, step.interaction_backward);
  } else if (model.interaction == Interaction::kDot) {
    builder.dot_products(vectors, workload.tables.front().dim, step.interaction_forward,
                         step.interaction_backward);
    columns = bottom + vectors * (vectors - 1) / 2;
  }
  step.interaction_backward.push_back(builder.passes("apart", 2, bottom + looked_up));
  step.top_backward.push_back(builder.passes("loss", 4, 1));
  const double outputs =
      builder.network("top", columns, model.top, true, step.top_forward, step.top_backward);
  step.top_forward.push_back(builder.passes("loss", 3, outputs));
  step.optimizer.push_back(builder.optimizer());
  step.parameters = builder.parameters();
  return step;
}

}  // namespace neuroshard
