#include "engine/policy/policy_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/policy/policy_context.h"
#include "engine/policy/policy_scaling.h"

namespace neuroshard {
namespace {

/// Uniform in +-1/sqrt(units), as torch.nn.LSTM; but for the bias of the forget gate, 1: what is
/// remembered is kept at first (Jozefowicz et al. 2015).
std::vector<float> first_lstm(const nn::LstmSpec& spec, Rng& rng) {
  std::vector<float> values(nn::parameter_count(spec));
  const double bound = 1 / std::sqrt(static_cast<double>(spec.units));
  for (float& value : values) value = static_cast<float>(bound * (2 * rng.uniform() - 1));
  const auto units = static_cast<std::ptrdiff_t>(spec.units);
  const auto bias = values.begin() + 4 * units * spec.inputs;
  std::fill(bias + units, bias + 2 * units, 1.0f);
  return values;
}

}  // namespace

PolicyModel first_policy(const PolicyTrainOptions& options, const Workload& pool,
                         const PolicySplit& split, Rng rng) {
  PolicyModel model;
  model.kind = options.kind;
  model.tasks = options.tasks;
  model.features = FeatureSet::parse(policy_features()).value();
  model.scaling = policy_scaling(model.features, pool, split.training);
  model.history = {options.reward, options.seed, std::ssize(split.training),
                   std::ssize(split.held_out), false};
  const int widths[] = {model.features.size(), 64, 32, 2 * options.hidden};
  model.table = nn::Mlp(nn::dense_stack(widths, nn::Activation::kNone));
  const int head[] = {kPolicyContext, options.hidden, 1};
  model.head = nn::Mlp(nn::dense_stack(head, nn::Activation::kNone));
  nn::initialize(model.table, rng);
  nn::initialize(model.head, rng);
  if (model.recurrent()) model.lstm = first_lstm(model.lstm_spec(), rng);
  return model;
}

std::vector<float> policy_parameters(const PolicyModel& model) {
  std::vector<float> all(model.table.parameters().begin(), model.table.parameters().end());
  all.insert(all.end(), model.head.parameters().begin(), model.head.parameters().end());
  all.insert(all.end(), model.lstm.begin(), model.lstm.end());
  return all;
}

void set_policy_parameters(std::span<const float> values, PolicyModel& model) {
  const std::span<float> table = model.table.parameters();
  const std::span<float> head = model.head.parameters();
  std::copy_n(values.begin(), table.size(), table.begin());
  const std::span<const float> behind = values.subspan(table.size());
  std::copy_n(behind.begin(), head.size(), head.begin());
  const std::span<const float> lstm = behind.subspan(head.size());
  std::copy(lstm.begin(), lstm.end(), model.lstm.begin());
}

}  // namespace neuroshard
