#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "search/local/local_plan.h"
#include "search/local/max_tree.h"
#include "search/local/moves.h"
#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// How the communication models react to a small change, around one plan. A device is ready after
/// compute and backward exchange; its total is `waiting` times the moment the last device is ready,
/// plus what is its own: all devices wait for the slowest (1), or none does (0).
struct CommResponse {
  double waiting = 0;
  double ready_per_dim = 0;  ///< ms of a device's ready time per dim more on it
  double own_per_dim = 0;    ///< the same of the rest of its total
};

/// Measures the response with about 25 plans around `plan`, put to the evaluator in one batch:
/// single devices get slower or wider.
CommResponse probe_response(const LocalPlan& plan, const PlanEvaluator& evaluator,
                            Scratch& scratch);

/// A guess at what a move does to the objective, from the last plan whose cost is known in all
/// detail and the compute costs of the one or two devices that the move touches: time logarithmic
/// in the devices.
///
/// The objective is the plan cost and, `level_weight` times as heavy, the cost that the plan would
/// have if its devices were perfectly level. The plan cost alone has plateaus: most moves do not
/// touch the slowest device, and of those the ones that save work leave room for others.
/// Not thread-safe.
class CostEstimate {
 public:
  CostEstimate(const CommResponse& response, double level_weight)
      : response_(response), level_weight_(level_weight) {}

  /// Takes over a plan's exact details, one value a device.
  void set(std::span<const double> ready_ms, std::span<const double> total_ms);

  /// The objective, milliseconds.
  [[nodiscard]] double objective() const { return objective_; }
  /// The device that decides the plan cost.
  [[nodiscard]] std::int32_t busiest() const;

  /// The objective after `move`.
  [[nodiscard]] double objective_after(const LocalPlan& plan, const Move& move) const;
  /// Takes over the guess. REQUIRES that `plan` does not have the move yet.
  void accept(const LocalPlan& plan, const Move& move);

 private:
  struct After {
    std::array<double, 2> ready;
    std::array<double, 2> own;
  };
  [[nodiscard]] After after(const LocalPlan& plan, const Move& move) const;
  [[nodiscard]] double combine(double last_ready, double largest_own, double level) const;

  CommResponse response_;
  double level_weight_;
  MaxTree ready_;
  MaxTree own_;  // total - waiting x (the last ready time)
  std::vector<double> own_values_;
  double level_ = 0;  // sum over devices of waiting x ready + own
  double objective_ = 0;
};

}  // namespace neuroshard::search
