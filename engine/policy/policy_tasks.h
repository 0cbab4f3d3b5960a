#pragma once

#include <cstdint>
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
  double teacher_ms = 0;                    ///< what its plan costs
};

/// The pool on some number of devices. Shapes are of the whole pool, so that tasks share them.
struct PolicyWorld {
  std::int32_t devices = 0;
  std::unique_ptr<CostEvaluator> evaluator;
  search::SearchSpace space;
};

/// Draws tasks from a pool of tables: so many devices, tables without repetition, which stay whole
/// or are halved against some share of the balanced load, and as much memory as devices have. In
/// one task of four, memory is tight: 5 % to 40 % more than the tables take. Not thread-safe; the
/// evaluators may be asked by several threads between calls.
class PolicyTaskSource {
 public:
  /// The pool must outlive the source. Errors: as make_evaluator().
  static Result<PolicyTaskSource> create(const Workload& pool, const CostModels& models,
                                         const PolicyTasks& tasks);

  /// A task of tables that are among `ids` of the pool. Errors: kInvalidInput where so little
  /// memory is there that hundreds of tries find none with a plan; kCancelled.
  Result<PolicyTask> draw(std::span<const std::int32_t> ids, Rng& rng,
                          const CancelToken* cancel = nullptr);

  [[nodiscard]] std::size_t worlds() const { return worlds_.size(); }
  [[nodiscard]] const PolicyWorld& world(std::int32_t index) const {
    return worlds_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] const Workload& pool() const { return *pool_; }

 private:
  PolicyTaskSource(const Workload& pool, const PolicyTasks& tasks) : pool_(&pool), tasks_(tasks) {}

  bool try_draw(std::span<const std::int32_t> ids, Rng& rng, const search::StopCheck& stop,
                PolicyTask& task);
  bool teach(const search::StopCheck& stop, PolicyTask& task);

  const Workload* pool_;
  PolicyTasks tasks_;
  std::vector<PolicyWorld> worlds_;  // one a number of devices
};

}  // namespace neuroshard
