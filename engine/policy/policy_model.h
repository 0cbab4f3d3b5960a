#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/features.h"
#include "nn/lstm.h"
#include "nn/mlp.h"

namespace neuroshard {

/// What a policy's network looks like and how it was trained.
enum class PolicyKind {
  kDreamshard,
  kAutoshard,  ///< recurrent: it remembers the pieces that it has been asked about before
};

/// "dreamshard" or "autoshard"; the error lists them.
Result<PolicyKind> parse_policy_kind(std::string_view text);
std::string_view to_string(PolicyKind kind);

/// What a policy is trained to make little of: see penalty_of().
enum class PolicyReward { kCost, kBalance };

/// "cost" or "balance"; the error lists them.
Result<PolicyReward> parse_policy_reward(std::string_view text);
std::string_view to_string(PolicyReward reward);
/// What the original of that kind is trained for.
PolicyReward usual_reward(PolicyKind kind);

/// Tasks that a policy was trained on.
struct PolicyTasks {
  std::vector<std::int32_t> devices;  ///< the numbers of devices, ascending
  std::int32_t min_tables = 0;        ///< of a task
  std::int32_t max_tables = 0;
  std::int64_t memory_bytes = 0;  ///< the most that a device had

  friend bool operator==(const PolicyTasks&, const PolicyTasks&) = default;
};

/// Where a policy comes from, for people and for remarks.
struct PolicyOrigin {
  std::string cost_model;         ///< the name of what it was trained on
  std::string cost_model_sha256;  ///< of its bytes
  std::string pool_sha256;        ///< of the file with the tables
  std::string hardware;
  Provenance provenance = Provenance::kSimulated;  ///< of the cost model's costs

  friend bool operator==(const PolicyOrigin&, const PolicyOrigin&) = default;
};

/// How a policy was trained, beside its tasks.
struct PolicyHistory {
  PolicyReward reward = PolicyReward::kCost;
  std::uint64_t seed = 0;            ///< of split_tables(), among others
  std::int64_t training_tables = 0;  ///< of the pool
  std::int64_t held_out_tables = 0;  ///< of the same; they only say which update is kept
  bool stopped_early = false;        ///< by its time limit or by its caller

  friend bool operator==(const PolicyHistory&, const PolicyHistory&) = default;
};

/// A trained policy: what score a device has for a piece of a table, given what it holds.
///   score = w2 . relu(A + P + C) + b
/// The table network makes 2 x H numbers of a piece: its part of A on the device that holds it,
/// added up over the device, and P when it is the one to be placed. C is the first layer of the
/// head, of policy_context.h; w2 and b are its second one. A recurrent policy has P from an LSTM
/// that reads these numbers of each piece that is placed, in turn: what it says of a piece depends
/// on those before. A value; const access is thread-safe.
struct PolicyModel {
  PolicyKind kind = PolicyKind::kDreamshard;
  PolicyTasks tasks;
  PolicyOrigin origin;
  FeatureSet features;  ///< of a piece
  Scaling scaling;      ///< one entry per feature, the same for all tasks
  nn::Mlp table;        ///< features -> 64 -> 32 -> 2 H
  nn::Mlp head;         ///< kPolicyContext -> H -> 1
  /// H -> H where the kind is recurrent, else empty: nn::Lstm's parameters.
  std::vector<float> lstm;
  PolicyHistory history;

  [[nodiscard]] int hidden() const { return head.layer(0).outputs; }
  [[nodiscard]] bool recurrent() const { return kind == PolicyKind::kAutoshard; }
  [[nodiscard]] nn::LstmSpec lstm_spec() const { return {hidden(), hidden()}; }
};

/// Ranges of the numbers: the message says what was found and what was expected.
Status validate(const PolicyTasks& tasks);

/// Whether the parts fit each other, H is a multiple of 8 and the ranges make sense. The message
/// says what was found and what was expected.
Status validate(const PolicyModel& model);

/// "p: trained on 2, 4 and 8 devices and 10 to 60 tables, what it does with 100 tables on 16
/// devices is not known": a remark with `name` in front; "" where the task is inside of what it was
/// trained on.
std::string outside_of_training(const PolicyModel& model, const std::string& name,
                                std::int32_t devices, std::int64_t tables);

/// The features of a piece that `train policy` uses.
std::string policy_features();

}  // namespace neuroshard
