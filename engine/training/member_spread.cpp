#include "engine/training/member_spread.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/training/evaluate.h"
#include "engine/training/inputs.h"

namespace neuroshard {
namespace {

/// How a layer of networks side by side is divided: into how many parts its inputs and outputs are.
struct LayerParts {
  int inputs = 1;
  int outputs = 1;
};

/// Of layer k: the first of the encoder reads what all read, the last of the head says their mean.
LayerParts parts_of(const nn::Mlp& mlp, std::size_t k, bool is_head, int members) {
  return {k == 0 && !is_head ? 1 : members, k + 1 == mlp.depth() && is_head ? 1 : members};
}

/// Whether the network can be so many side by side: all weights between their parts are 0.
bool is_divided(const nn::Mlp& mlp, bool is_head, int members) {
  for (std::size_t k = 0; k < mlp.depth(); ++k) {
    const auto [inputs, outputs] = parts_of(mlp, k, is_head, members);
    const nn::DenseSpec& layer = mlp.layer(k);
    if (layer.inputs % inputs != 0 || layer.outputs % outputs != 0) return false;
    if (inputs == 1 || outputs == 1) continue;
    for (int o = 0; o < layer.outputs; ++o) {
      for (int i = 0; i < layer.inputs; ++i) {
        if (o / (layer.outputs / outputs) == i / (layer.inputs / inputs)) continue;
        if (mlp.weight(k)[static_cast<std::size_t>(o * layer.inputs + i)] != 0) return false;
      }
    }
  }
  return true;
}

/// Network number `member` of those.
nn::Mlp part(const nn::Mlp& mlp, bool is_head, int members, int member) {
  std::vector<nn::DenseSpec> layers(mlp.layers().begin(), mlp.layers().end());
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto [inputs, outputs] = parts_of(mlp, k, is_head, members);
    layers[k].inputs /= inputs;
    layers[k].outputs /= outputs;
  }
  nn::Mlp own(std::move(layers));
  for (std::size_t k = 0; k < own.depth(); ++k) {
    const auto [inputs, outputs] = parts_of(mlp, k, is_head, members);
    const nn::DenseSpec& layer = own.layer(k);
    const int row = outputs == 1 ? 0 : member * layer.outputs;
    const int column = inputs == 1 ? 0 : member * layer.inputs;
    // The last layer has each network's weights divided by their number.
    const float factor = outputs == 1 ? static_cast<float>(members) : 1.0F;
    for (int o = 0; o < layer.outputs; ++o) {
      own.bias(k)[static_cast<std::size_t>(o)] = mlp.bias(k)[static_cast<std::size_t>(row + o)];
      for (int i = 0; i < layer.inputs; ++i) {
        own.weight(k)[static_cast<std::size_t>(o * layer.inputs + i)] =
            factor *
            mlp.weight(k)[static_cast<std::size_t>((row + o) * mlp.layer(k).inputs + column + i)];
      }
    }
  }
  return own;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// What the networks say themselves: milliseconds, or their logarithms.
Result<std::vector<double>> outputs_of(const ComputeModel& model, const ComputeDataset& dataset) {
  NEUROSHARD_ASSIGN_OR_RETURN(std::vector<double> outputs,
                              predict_compute(model, dataset, all_ids(dataset.samples.size())));
  if (model.target == CostTarget::kLogMilliseconds) {
    for (double& output : outputs) output = std::log(output);
  }
  return outputs;
}

}  // namespace

std::vector<ComputeModel> members_of(const ComputeModel& model) {
  int members = model.head.inputs();
  while (members > 1 &&
         !(is_divided(model.table, false, members) && is_divided(model.head, true, members))) {
    --members;
  }
  if (members == 1) return {model};
  std::vector<ComputeModel> all(static_cast<std::size_t>(members), model);
  for (int member = 0; member < members; ++member) {
    ComputeModel& own = all[static_cast<std::size_t>(member)];
    own.table = part(model.table, false, members, member);
    own.head = part(model.head, true, members, member);
  }
  return all;
}

Result<std::vector<double>> member_spread(const ComputeModel& model,
                                          const ComputeDataset& dataset) {
  const std::vector<ComputeModel> members = members_of(model);
  if (members.size() == 1) {
    return invalid_input(
        "found a compute model of one network, expected several members, which "
        "can disagree: train compute --members 4 and calibrate compute make them");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> mean, outputs_of(model, dataset));
  std::vector<double> spread(mean.size(), 0.0);
  if (mean.empty()) return spread;
  for (const ComputeModel& member : members) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> own, outputs_of(member, dataset));
    const double constant = mean_of(own) - mean_of(mean);
    for (std::size_t k = 0; k < spread.size(); ++k) {
      const double away = own[k] - constant - mean[k];
      spread[k] += away * away;
    }
  }
  for (std::size_t k = 0; k < spread.size(); ++k) {
    const double deviation = std::sqrt(spread[k] / static_cast<double>(members.size()));
    // A difference of logarithms is a share of the cost.
    const bool is_share = model.target == CostTarget::kLogMilliseconds;
    const double ms = is_share ? deviation * std::exp(mean[k]) : deviation;
    // Networks that overflow are as unsure as can be.
    spread[k] = std::isnan(ms) ? std::numeric_limits<double>::infinity() : ms;
  }
  return spread;
}

}  // namespace neuroshard
