#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/rng.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/cost_models.h"
#include "engine/policy/policy_model.h"
#include "search/policy/episode.h"
#include "search/policy/policy_pieces.h"
#include "search/search_space.h"
#include "search/stop_check.h"

namespace neuroshard {

/// Pieces of some tables that are to be placed, and how a rule does it.
struct PolicyTask {
  std::int32_t world = 0;  ///< index of PolicyTaskSource::world()
  search::EpisodeSetting setting;
  std::vector<search::PolicyPiece> pieces;  ///< in the order of placing, with the teacher's devices
  double teacher_penalty = 0;               ///< of its plan: penalty_of()
};

/// The pool on some number of devices. Shapes are of the whole pool, so that tasks share them.
struct PolicyWorld {
  std::int32_t devices = 0;
  std::unique_ptr<CostEvaluator> evaluator;
  search::SearchSpace space;
};

/// What is made of a task.
struct PolicyTaskUse {
  PolicyReward reward = PolicyReward::kCost;  ///< what the teacher's plan is the best by
  /// Pieces x devices of a task at most.
  std::int64_t most_choices = std::numeric_limits<std::int64_t>::max();
};

/// Draws tasks from a pool of tables: so many devices, tables without repetition, which stay whole
/// or are halved against some share of the balanced load, and as much memory as devices have. In
/// one task of four, memory is tight: 5 % to 40 % more than the tables take. Tasks of more choices
/// than there may be are not drawn. Not thread-safe; the evaluators may be asked by several threads
/// between calls.
class PolicyTaskSource {
 public:
  /// The pool must outlive the source. Errors: kInvalidInput for tables that columns do not divide
  /// as they have to be, or that may be on devices that there are not; as make_evaluator().
  static Result<PolicyTaskSource> create(const Workload& pool, const CostModels& models,
                                         const PolicyTasks& tasks, const PolicyTaskUse& use = {});

  /// A task of tables that are among `ids` of the pool. Errors: kInvalidInput where hundreds of
  /// tries find none with a plan, with what was in the way most often; kCancelled.
  Result<PolicyTask> draw(std::span<const std::int32_t> ids, Rng& rng,
                          const CancelToken* cancel = nullptr);

  [[nodiscard]] std::size_t worlds() const { return worlds_.size(); }
  [[nodiscard]] const PolicyWorld& world(std::int32_t index) const {
    return worlds_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] const Workload& pool() const { return *pool_; }
  [[nodiscard]] PolicyReward reward() const { return use_.reward; }

 private:
  /// How a try to draw one went.
  enum class Try { kDrawn, kTooLarge, kTooManyChoices, kNoCosts, kStuck, kStuckOnFew };
  static constexpr std::size_t kTriesEnd = 6;

  PolicyTaskSource(const Workload& pool, const PolicyTasks& tasks, const PolicyTaskUse& use)
      : pool_(&pool), tasks_(tasks), use_(use) {}

  Try try_draw(std::span<const std::int32_t> ids, Rng& rng, const search::StopCheck& stop,
               PolicyTask& task);
  Try teach(const search::StopCheck& stop, PolicyTask& task);
  [[nodiscard]] Status none_drawn(Try why) const;

  const Workload* pool_;
  PolicyTasks tasks_;
  PolicyTaskUse use_;
  std::vector<PolicyWorld> worlds_;  // one a number of devices
};

}  // namespace neuroshard
