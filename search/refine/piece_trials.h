#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/local/comm_response.h"
#include "search/local/load_placer.h"
#include "search/local/local_plan.h"
#include "search/local/plan_coster.h"
#include "search/local/shape_catalog.h"
#include "search/refine/divider.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Places one set of pieces after the other by load, costs the plans, and keeps the cheapest. What
/// it is made of must outlive it. Not thread-safe.
class PieceTrials {
 public:
  PieceTrials(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog);

  /// Bytes of a device beside the pieces that every device holds: bulky is what takes a share of
  /// them.
  void set_room(std::int64_t bytes) { room_ = bytes; }
  /// From now on a place() that `stop` ends is given up.
  void stop_by(const StopCheck& stop) { stop_ = &stop; }
  /// From now on dims weigh what they were measured to.
  void set_response(const CommResponse& response) { response_ = response; }
  /// A device's dims are capped at so many times what the widest has at least.
  void set_cap(double cap) { cap_ = cap; }
  [[nodiscard]] double cap() const { return cap_; }

  /// From now on, see LoadPlacer.
  void keep_rows_on_one_host(bool keep) { placer_.keep_rows_on_one_host(keep); }

  /// Places and costs; keeps the plan when it is cheaper than all before. False when it does not
  /// fit.
  bool place(const Pieces& pieces);
  /// The same; whether it became the cheapest.
  bool improve(const Pieces& pieces);

  [[nodiscard]] std::int64_t placed() const { return placed_; }  ///< plans
  // Of the cheapest plan; there is one once a place() has succeeded.
  [[nodiscard]] const Pieces& pieces() const { return pieces_; }
  [[nodiscard]] const Assignment& assignment() const { return assignment_; }
  [[nodiscard]] double cost() const { return cost_; }
  // Of the last plan.
  [[nodiscard]] double last_cost() const { return last_cost_; }
  [[nodiscard]] const LoadPlacer& placer() const { return placer_; }
  [[nodiscard]] const PlanCoster& coster() const { return coster_; }

 private:
  [[nodiscard]] double least_width(const Pieces& pieces) const;
  bool place_by_load(const Pieces& pieces);

  const ShapeCatalog& catalog_;
  const std::int32_t devices_;
  std::int64_t room_;
  CommResponse response_;
  double cap_;
  const StopCheck* stop_ = nullptr;
  std::size_t bulky_ = 0;  // rank of the first way that fits
  LoadPlacer placer_;
  PlanCoster coster_;
  std::int64_t placed_ = 0;
  Pieces pieces_;
  Assignment assignment_;
  double cost_ = 0;
  double last_cost_ = 0;
};

}  // namespace neuroshard::search
