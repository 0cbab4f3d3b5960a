#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/core/plan.h"
#include "search/plan_evaluator.h"
#include "search/search_space.h"

namespace neuroshard::search {

/// Some columns of a table that a policy gives a device.
struct PolicyPiece {
  Shard shard;
  ShapeId shape = 0;
  double cost = 0;  ///< milliseconds of the piece alone
  std::int64_t bytes = 0;
  Exchanged exchanged{};               ///< what of it travels
  const DeviceSet* only_on = nullptr;  ///< where it may be; null: anywhere
  /// Columns of its table, if that may not be whole: then no device is to have all of its pieces,
  /// as trainers join what a device has of a table. 0: it may be whole.
  std::int32_t divided_dim = 0;
};

/// The largest piece that is left as it is.
struct PolicyPieceLimits {
  double cost = std::numeric_limits<double>::infinity();  ///< milliseconds
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
};

/// Cuts tables into pieces. Interns shapes, so it needs the evaluator to itself. What it is made of
/// must outlive it and its pieces.
class PieceCutter {
 public:
  PieceCutter(const SearchSpace& space, PlanEvaluator& evaluator)
      : space_(space), evaluator_(evaluator) {}

  /// The tables, each halved by its columns as long as a piece is beyond a limit, or may not be
  /// whole, and can be halved.
  [[nodiscard]] std::vector<PolicyPiece> cut(std::span<const std::int32_t> tables,
                                             const PolicyPieceLimits& limits) const;
  [[nodiscard]] bool can_halve(const PolicyPiece& piece) const;
  /// Both halves. REQUIRES can_halve().
  [[nodiscard]] std::vector<PolicyPiece> halves(const PolicyPiece& piece) const;

 private:
  [[nodiscard]] std::vector<PolicyPiece> known(std::span<const Shard> shards) const;
  void put_halves(const Shard& shard, std::vector<Shard>& shards) const;

  const SearchSpace& space_;
  PlanEvaluator& evaluator_;
};

/// What a policy places first, of pieces of the same: the first of the table.
bool costlier_piece(const PolicyPiece& a, const PolicyPiece& b);
bool larger_piece(const PolicyPiece& a, const PolicyPiece& b);

/// Milliseconds of a device that had the same share of all pieces as every other.
float balanced_cost(std::span<const PolicyPiece> pieces, const PlanEvaluator& evaluator);

}  // namespace neuroshard::search
