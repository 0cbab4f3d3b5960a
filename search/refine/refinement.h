#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "search/local/local_walk.h"
#include "search/local/relayout_walk.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/division_walk.h"
#include "search/refine/walk_budget.h"

namespace neuroshard::search {

/// Whether no plan can be cheaper by more than rounding.
bool is_proven(double cost, std::optional<double> bound);

/// The walks of one refine search: generations of several walks at a time, each from the best plan
/// so far, or from a rival of its; their shares of the budget; and the best plan they have found.
/// What it is made from must outlive it. Not thread-safe; uses the threads of options.pool.
class Refinement {
 public:
  /// The options' time limit counts from `began`.
  Refinement(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
             const SearchOptions& options, std::chrono::steady_clock::time_point began);

  /// Another plan that some walks go on from; an empty one is none. Before run().
  void add_rival(Assignment rival);

  /// Searches from `start` until the options' limits, of which `evaluations_so_far` are used up, or
  /// a plan of cost `bound`, below which there is none, where that is known. Once.
  void run(Assignment start, std::int64_t evaluations_so_far, std::optional<double> bound);

  /// Never costlier than the start.
  [[nodiscard]] const Assignment& best() const { return best_.pieces; }
  [[nodiscard]] double best_cost() const { return best_.cost; }
  /// Looked at by all walks.
  [[nodiscard]] std::int64_t candidates() const { return budget_.candidates(); }
  /// Time or the caller ended it.
  [[nodiscard]] bool stopped_early() const { return stopped_early_; }

 private:
  [[nodiscard]] bool proven() const;
  [[nodiscard]] bool few_tables() const;
  [[nodiscard]] Assignment far_from_best(Rng& rng) const;
  struct Lineage {
    Assignment pieces;
    double cost = 0;
  };
  struct Walkers {
    LocalWalk walk;
    RelayoutWalk relayouts;
    DivisionWalk divisions;
  };
  using IndexedWalk = std::function<WalkResult(std::int64_t index, int worker)>;
  LocalWalk& walker(int worker) { return walkers(worker).walk; }
  Walkers& walkers(int worker);
  void join_best();
  void change_best();
  [[nodiscard]] Lineage& lineage_of(int generation, std::int64_t index);
  [[nodiscard]] Rng rng_of(std::int64_t index) const;
  std::vector<WalkResult> run_walks(const IndexedWalk& walk);
  void run_cycle();
  [[nodiscard]] bool divisions_pay(const WalkBudget::Share& share) const;
  void walk_over_divisions();
  void run_generation(int generation, const WalkBudget::Share& share);
  WalkResult walk(int generation, std::int64_t index, int worker, const WalkBudget::Share& share);

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const SearchOptions& options_;
  const int threads_;
  const int walks_;
  WalkBudget budget_;
  std::vector<std::unique_ptr<Walkers>> walkers_;  // one a worker, made when it is needed
  CommResponse response_;
  std::uint64_t next_walk_ = 0;  // number of its stream of random numbers
  Lineage best_;
  std::vector<Lineage> rivals_;
  std::optional<Lineage> divided_;  // another one: what walks over divisions have found
  std::optional<double> bound_;
  bool stopped_early_ = false;
};

}  // namespace neuroshard::search
