#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// What the costs of a plan are made of; vectors are [devices].
struct PlacedPlan {
  PlacedPlan() = default;
  /// Of devices without shards.
  explicit PlacedPlan(const PlanEvaluator& evaluator);

  /// Back to these, without allocating.
  void clear(float empty_cost);
  /// What a device exchanges more with one more shard; its compute is not touched.
  void add(std::size_t device, const Exchanged& exchanged);
  /// The plan by itself; what it refers to is this.
  [[nodiscard]] PlanBatch batch() const {
    return {1, compute_ms, dim_sums, {&collectives, 1}, work};
  }

  std::vector<float> compute_ms;
  std::vector<std::int64_t> dim_sums;  ///< of Exchanged::dims and host_dims
  Collectives collectives;
  std::vector<DeviceWork> work;
};

/// Places the plan's shards in their order, which counts: sums in another differ by rounding.
/// Interns shapes. REQUIRES a valid plan; with replicated tables only where the evaluator knows
/// them.
PlacedPlan place(const Plan& plan, PlanEvaluator& evaluator);

/// Milliseconds; of a plan in canonical order what a plan file says. REQUIRES what place() does.
double plan_cost(const Plan& plan, PlanEvaluator& evaluator);

}  // namespace neuroshard::search
