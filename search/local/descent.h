#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "search/local/cost_estimate.h"
#include "search/local/local_plan.h"
#include "search/local/local_walk.h"
#include "search/local/moves.h"

namespace neuroshard::search {

/// Local search aimed at the device that decides the cost: of all moves that take load off it, the
/// few that level it best with another device by the costs of single shards are put to the cost
/// models, and the best of these is made; until none helps. Some hundreds of plans where a walk
/// needs many thousands, but it stops at the first local optimum.
///
/// Deterministic. Not thread-safe; one a thread, for any number of runs.
class Descent {
 public:
  Descent(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog);

  /// Whether to stop, asked before every move with the candidates looked at so far.
  using Stop = std::function<bool(std::int64_t candidates)>;

  /// Descends from `start`, which has to be within the memory limit, until no move helps or `stop`
  /// says so. Never dearer than `start` (beyond rounding).
  WalkResult run(const Assignment& start, const CommResponse& response, const Stop& stop);

 private:
  /// What is to be lowered: the last ready time, the largest of what else a total has, or the most
  /// dims. The plan cost is their sum, weighted by unit_.
  enum Target : std::size_t { kReady, kOwn, kDims, kTargets };
  using Load = std::array<double, kTargets>;
  enum class Kind { kShift, kSwap, kSplit, kMerge };

  /// A move by the weights of its pieces.
  struct Proposal {
    double score = 0;  // what the plan would cost
    Kind kind = Kind::kShift;
    EntryId stays = kNoEntry;  // of a split piece, and what leaves
    EntryId leaves = kNoEntry;
    std::int32_t piece = kNoPiece;
    std::int32_t other = kNoPiece;
    std::int32_t device = kNoDevice;
    EntryId merged = kNoEntry;
  };
  struct Priced {
    double key = 0;
    Move move;
  };
  /// A device's pieces but blocks, by weight; where dims count, by dim first.
  struct Sorted {
    std::vector<std::int32_t> pieces;
    std::vector<std::size_t> class_ends;  // of equal dims, or of all
  };

  void start(const Assignment& start, const CommResponse& response);
  void weigh_entries();
  bool step(Target target);
  void choose_devices(Target target, std::int32_t from);
  void propose(Target target, std::int32_t from);
  void propose_swaps(Target target, std::int32_t from, std::int32_t piece, std::int32_t to);
  void propose_splits(Target target, std::int32_t from, std::int32_t piece, std::int32_t to);
  void propose_merges(Target target, std::int32_t from, std::int32_t piece);
  void add(Target target, std::int32_t from, const Load& less, const Load& more, Proposal proposal);
  [[nodiscard]] Move move_of(const Proposal& proposal) const;
  void price_best(Target target, std::int32_t from);
  bool make(const Move& move);

  [[nodiscard]] Load load(std::int32_t device) const;
  [[nodiscard]] const Load& weight(std::int32_t piece) const {
    return weights_[static_cast<std::size_t>(plan_.placed(piece).entry)];
  }
  const Sorted& sorted(std::int32_t device);
  void touch(const Move& move);

  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const std::int64_t memory_bytes_;
  LocalPlan plan_;
  Scratch scratch_;
  std::vector<double> ready_ms_;
  std::vector<double> total_ms_;
  CommResponse response_;
  CostEstimate estimate_{{}, 0};
  double cost_ = 0;
  std::int64_t candidates_ = 0;
  int level_steps_ = 0;        // since the cost last fell
  Load unit_{};                // ms of the plan's cost
  Load most_{};                // of any device
  std::vector<Load> weights_;  // of each entry: what a piece adds to a device, about
  std::vector<std::int32_t> devices_;
  std::vector<Proposal> proposals_;
  std::vector<Priced> priced_;
  std::vector<Sorted> sorted_;  // of each device; no pieces: unknown
};

}  // namespace neuroshard::search
