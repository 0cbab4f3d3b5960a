#include "engine/training/member_spread.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/training/evaluate.h"
#include "engine/training/inputs.h"
#include "engine/training/split_members.h"

namespace neuroshard {
namespace {

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
