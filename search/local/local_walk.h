#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/cost_estimate.h"
#include "search/local/local_plan.h"
#include "search/local/move_guard.h"
#include "search/local/moves.h"
#include "search/local/pair_deal.h"
#include "search/local/plan_coster.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// How a walk goes on; the defaults are what bench/refine_bench found best on the reference tasks.
struct WalkOptions {
  MoveMix mix;
  double balance_weight = 2;     ///< see CostEstimate
  int first_norm = 0;            ///< doublings of the norm's exponent at the start of the walk ..
  int last_norm = 0;             ///< .. and at its end, see CostEstimate; 0: not softened
  bool soft_dims = false;        ///< whether dims are softened, too
  double first_temperature = 0;  ///< temperatures, as shares of the start's cost
  double last_temperature = 0;
  std::int64_t budget = kNoBudget;  ///< candidates at most
};

/// The defaults for a plan: the more devices, the less one move changes the objective, and the
/// lower the temperature.
WalkOptions default_walk(std::int32_t devices);

/// At that share of a walk: the norm, all as long, and the temperature, as a share of the cost.
int norm_at(const WalkOptions& options, double done);
double temperature_at(const WalkOptions& options, double done);

/// How far a walk is: 0 at its start, 1 or more when it has to end. It gets the candidates the walk
/// has looked at. Called often.
using WalkProgress = std::function<double(std::int64_t candidates)>;

struct WalkResult {
  Assignment best;
  double cost = 0;  ///< of the best, by plan_details()
  std::int64_t candidates = 0;
};

/// Local search on the true objective: simulated annealing over random moves. A move is first put
/// to an estimate that needs the compute costs of its two devices only; after a few moves that
/// pass, the whole plan is costed by all networks, and either stands or is taken back (delayed
/// acceptance). The fewer plans are taken back, the more moves go on one evaluation.
/// Not thread-safe; one a thread, for any number of walks: what a walk finds depends on its
/// arguments alone, not on the walks before.
class LocalWalk {
 public:
  /// With a `guard`, moves cost what it says, too; it has to know the start of every walk.
  LocalWalk(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
            MoveGuard* guard = nullptr);

  /// Walks from `start`, which has to be within the memory limit, and returns the best plan seen:
  /// `start` itself when there is none better.
  WalkResult run(const Assignment& start, const WalkOptions& options, const CommResponse& response,
                 Rng rng, const WalkProgress& progress);

  /// What the plan costs by plan_details().
  double cost(const Assignment& assignment);
  /// probe_response() around a plan.
  CommResponse probe(const Assignment& assignment);

 private:
  void begin_objective(int norm, bool soft_dims);
  [[nodiscard]] double objective() const;
  bool wander(const MoveSource& source, double temperature, std::int64_t budget, Rng& rng);
  bool verify(double temperature, Rng& rng);
  void take_back_to(std::size_t size);
  void new_best();
  void trim_journal();
  Assignment best() const;

  const PlanEvaluator& evaluator_;
  const std::int64_t memory_bytes_;
  MoveGuard* const guard_;
  LocalPlan plan_;
  PlanCoster coster_;
  PairDealer dealer_;
  const bool deals_pairs_;
  std::vector<double> ready_ms_;  // of the last plan that stands
  std::vector<double> total_ms_;

  CostEstimate estimate_{{}, 0};
  double standing_objective_ = 0;
  double moves_per_plan_ = 1;
  std::int64_t candidates_ = 0;

  double best_cost_ = 0;
  std::vector<Edit> journal_;  // edits that lead back to the best plan, or since the last trim
  bool best_in_journal_ = true;
  Assignment best_;  // when it is not in the journal
};

}  // namespace neuroshard::search
