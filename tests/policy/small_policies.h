#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/table_pool.h"
#include "engine/policy/policy_context.h"
#include "engine/policy/policy_model.h"
#include "engine/policy/train_policy.h"

namespace neuroshard::test {

inline Workload generated_pool(std::int32_t count, std::uint64_t seed) {
  GenerateOptions options;
  options.count = count;
  options.seed = seed;
  return generate_tables(options).value();
}

inline const CostModels& h100_costs() {
  static const CostModels models = load_shipped_models("h100_sim").value().models;
  return models;
}

/// Tasks of a few tables, so that tests take no time.
inline PolicyTasks few_tables() { return {{2, 4}, 4, 12, std::int64_t{40'000'000'000}}; }

inline PolicyTrainOptions short_training(std::uint64_t seed = 0,
                                         PolicyKind kind = PolicyKind::kDreamshard) {
  PolicyTrainOptions options;
  options.kind = kind;
  options.reward = usual_reward(kind);
  options.tasks = few_tables();
  options.updates = 20;
  options.imitations = 20;
  options.episodes = 4;
  options.batch = 3;
  options.hidden = 8;
  options.seed = seed;
  return options;
}

/// With random weights.
inline PolicyModel random_policy(std::uint64_t seed, int hidden = 8,
                                 PolicyKind kind = PolicyKind::kDreamshard) {
  PolicyModel model;
  model.kind = kind;
  model.history = {usual_reward(kind), seed, 60, 20, false};
  model.tasks = few_tables();
  model.origin = {"h100_sim", std::string(64, 'a'), std::string(64, 'b'), "H100-80G",
                  Provenance::kSimulated};
  model.features = FeatureSet::parse(policy_features()).value();
  const auto features = static_cast<std::size_t>(model.features.size());
  model.scaling = {std::vector<float>(features, 1.0f), std::vector<float>(features, 10.0f)};
  const int widths[] = {model.features.size(), 12, 2 * hidden};
  model.table = nn::Mlp(nn::dense_stack(widths, nn::Activation::kNone));
  const int head[] = {kPolicyContext, hidden, 1};
  model.head = nn::Mlp(nn::dense_stack(head, nn::Activation::kNone));
  Rng rng(seed);
  nn::initialize(model.table, rng);
  nn::initialize(model.head, rng);
  if (model.recurrent()) {
    model.lstm.resize(nn::parameter_count(model.lstm_spec()));
    for (float& value : model.lstm) value = static_cast<float>(rng.uniform() - 0.5);
  }
  return model;
}

/// Its parameters in the order in which training has them.
inline std::vector<float> parameters_of(const PolicyModel& model) {
  std::vector<float> values(model.table.parameters().begin(), model.table.parameters().end());
  values.insert(values.end(), model.head.parameters().begin(), model.head.parameters().end());
  values.insert(values.end(), model.lstm.begin(), model.lstm.end());
  return values;
}

}  // namespace neuroshard::test
