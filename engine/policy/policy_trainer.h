#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/rng.h"
#include "engine/core/status.h"
#include "engine/core/thread_pool.h"
#include "engine/policy/policy_learner.h"
#include "engine/policy/policy_split.h"
#include "engine/policy/policy_tasks.h"
#include "engine/policy/policy_training.h"
#include "nn/backend.h"
#include "search/stop_check.h"

namespace neuroshard {

/// A training of a policy that whoever runs it may look at between steps: its costs can be
/// exchanged, and where it stands is a value that another one can go on from. Not thread-safe; uses
/// `threads` of its own.
class PolicyTrainer {
 public:
  /// With random weights. The pool and what `control` points to must outlive it. Errors: as
  /// train_policy(), for options and the pool.
  static Result<std::unique_ptr<PolicyTrainer>> create(const Workload& pool,
                                                       const PolicyTrainOptions& options,
                                                       const PolicyTrainControl& control);

  /// What plans cost from now on; tasks are drawn anew. Errors: those of PolicyTaskSource::create()
  /// and draw(); all is as before then.
  Status set_costs(const CostModels& models);
  /// Forgets the looks so far, and which parameters were the best: that was by other costs.
  void forget_best();
  /// Goes on from where another training with these options stood. Errors: kInvalidInput where it
  /// is not of this training's size.
  Status set_state(PolicyTrainingState state);

  /// Imitates, unless that is done, and goes on to so many updates in all. REQUIRES costs. Stops
  /// before that where the time limit or the caller says so: then stopped(). Errors: kInternal
  /// where the training diverges, memory, tasks that cannot be drawn.
  Status advance(std::int32_t updates);
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// Whether the time limit or the caller says that it has to end: then stopped().
  bool stop_now() { return stopped_ = stopped_ || stop_.stop(); }
  /// Where it stands.
  [[nodiscard]] const PolicyTrainingState& state() const { return state_; }
  /// The best policy so far. Errors: kCancelled where the caller ended the imitation.
  [[nodiscard]] Result<PolicyTraining> finish();

  /// A plan that the policy draws as it is now, for a task of the tables that it is trained on.
  /// Where the plan gets stuck, the rules' one. Errors: kCancelled where it has to end before that.
  struct DrawnPlan {
    std::int32_t devices = 0;
    std::vector<search::PolicyPiece> pieces;  ///< with their devices
    double cost_ms = 0;                       ///< predicted
  };
  Result<DrawnPlan> draw_plan(Rng& rng);

  [[nodiscard]] const PolicySplit& split() const { return split_; }

 private:
  PolicyTrainer(const Workload& pool, const PolicyTrainOptions& options,
                const PolicyTrainControl& control, const nn::Backend& backend);

  [[nodiscard]] std::int64_t update() const { return state_.steps - options_.imitations; }
  [[nodiscard]] Rng numbers(PolicyStream stream) const {
    return seeds_.fork(static_cast<std::uint64_t>(stream));
  }
  [[nodiscard]] PolicyModel model_of(std::span<const float> parameters) const;
  Result<std::vector<PolicyTask>> draw_batch();
  Status learn(const std::vector<PolicyTask>& tasks, const LearningRule& rule);
  Status step();
  [[nodiscard]] Status diverged() const;
  /// At the held-out tasks by the parameters of `state`, which it becomes part of.
  Status look(PolicyTrainingState& state);
  void tell() const;

  const Workload& pool_;
  const PolicyTrainOptions options_;
  const PolicyTrainControl control_;
  const nn::Backend& backend_;
  const search::StopCheck stop_;
  ThreadPool threads_;
  const Rng seeds_;
  PolicySplit split_;
  PolicyModel shape_;  // of the policy, with its first weights
  std::optional<PolicyTaskSource> source_;
  std::vector<PolicyTask> held_out_tasks_;
  std::vector<PolicyLearner> learners_;  // one a thread
  std::vector<std::vector<float>> gradients_;
  PolicyTrainingState state_;
  bool stopped_ = false;
};

}  // namespace neuroshard
