#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "search/local/comm_response.h"
#include "search/local/cost_estimate.h"
#include "search/local/local_plan.h"
#include "search/local/moves.h"

namespace neuroshard::search {

/// Moves that take load off one device, chosen by what single pieces weigh: sums and differences of
/// a few numbers, so that thousands of moves cost less than asking the cost models about a few.
///
/// Deterministic. Not thread-safe. What it is made from must outlive it.
class Proposals {
 public:
  /// What is to be lowered: the last ready time, the largest of what else a total has, or the most
  /// dims. The plan cost is their sum, weighted by unit().
  enum Target : std::size_t { kReady, kOwn, kDims, kTargets };
  using Load = std::array<double, kTargets>;
  enum class Kind { kShift, kSwap, kSplit, kMerge };

  /// A move by the weights of its pieces.
  struct Proposal {
    double score = 0;  ///< what the plan would cost
    Kind kind = Kind::kShift;
    EntryId stays = kNoEntry;  ///< of a split piece, and what leaves
    EntryId leaves = kNoEntry;
    std::int32_t piece = kNoPiece;
    std::int32_t other = kNoPiece;
    std::int32_t device = kNoDevice;
    EntryId merged = kNoEntry;
  };

  /// About `plan`, for which `estimate` holds.
  Proposals(const PlanEvaluator& evaluator, const ShapeCatalog& catalog, const LocalPlan& plan,
            const CostEstimate& estimate);

  /// Forgets all it knows: the plan is another one.
  void start(const CommResponse& response);
  /// The devices of a move, made or taken back, have changed.
  void touch(const Move& move);

  /// At most `count` moves from device `from` that lower the target, those of the lowest score, in
  /// no order; valid until the next call.
  std::span<const Proposal> best(Target target, std::int32_t from, std::size_t count);
  [[nodiscard]] Move move_of(const Proposal& proposal) const;

  /// ms of the plan's cost for one of the target.
  [[nodiscard]] double unit(Target target) const { return unit_[target]; }
  [[nodiscard]] Load load(std::int32_t device) const;

 private:
  /// A device's pieces but blocks, by weight; where dims count, by dim first.
  struct Sorted {
    std::vector<std::int32_t> pieces;
    std::vector<std::size_t> class_ends;  // of equal dims, or of all
  };

  void weigh_entries(const CommResponse& response);
  [[nodiscard]] const Load& weight(std::int32_t piece) const {
    return weights_[static_cast<std::size_t>(plan_.placed(piece).entry)];
  }
  const Sorted& sorted(std::int32_t device);
  void choose_devices(Target target, std::int32_t from);
  void propose_swaps(Target target, std::int32_t from, std::int32_t piece, std::int32_t to);
  void propose_splits(Target target, std::int32_t from, std::int32_t piece, std::int32_t to);
  void propose_merges(Target target, std::int32_t from, std::int32_t piece);
  void add(Target target, std::int32_t from, const Load& less, const Load& more, Proposal proposal);

  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const LocalPlan& plan_;
  const CostEstimate& estimate_;
  Load unit_{};
  Load most_{};                // of any device
  std::vector<Load> weights_;  // of each entry: what a piece adds to a device, about
  std::vector<std::int32_t> devices_;
  std::vector<Proposal> proposals_;
  std::vector<Sorted> sorted_;  // of each device; no pieces: unknown
};

}  // namespace neuroshard::search
