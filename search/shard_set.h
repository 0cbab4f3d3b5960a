#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/plan.h"
#include "search/plan_evaluator.h"
#include "search/search_space.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// What placing a shard takes.
struct PlacementItem {
  double cost = 0;  ///< milliseconds of the shard alone
  std::int64_t bytes = 0;
  std::int64_t dims = 0;  ///< of Exchanged
  ShapeId shape = 0;
  std::int32_t index = 0;              ///< of the shard in its ShardSet
  const DeviceSet* only_on = nullptr;  ///< where it may be; null: anywhere
};

/// The shards a plan is going to have, before they are placed: tables whole or split. A value;
/// const access is thread-safe. Shards are numbered: tables first, then the parts that splits
/// append.
class ShardSet {
 public:
  /// Every table whole.
  static ShardSet whole_tables(const SearchSpace& space, PlanEvaluator& evaluator);

  [[nodiscard]] std::size_t size() const { return shards_.size(); }
  [[nodiscard]] const Shard& shard(std::int32_t index) const {
    return shards_[static_cast<std::size_t>(index)];
  }
  /// All shards in descending cost; equal costs: the later shard first.
  [[nodiscard]] std::span<const PlacementItem> by_cost() const { return order_; }

  /// The `count` largest and the `count` most expensive shards, ascending numbers, each once. Equal
  /// bytes or costs: the later shard first.
  [[nodiscard]] std::vector<std::int32_t> candidates(std::size_t count) const;
  /// Numbers in descending bytes; equal bytes: the later shard first.
  [[nodiscard]] std::vector<std::int32_t> by_bytes() const;

  /// Shard `index` keeps its first `columns` columns, the rest becomes a new last shard. REQUIRES
  /// 0 < columns < its dim.
  void split(std::int32_t index, std::int32_t columns, const SearchSpace& space,
             PlanEvaluator& evaluator);

  /// Splits the `count` largest shards that can be split in two by split_point(); false when there
  /// is none. Fewer when `stop` says so.
  bool split_largest(std::size_t count, const SearchSpace& space, PlanEvaluator& evaluator,
                     const StopCheck& stop);

  /// The shards placed: device_of[index] for each. Not canonical.
  [[nodiscard]] Plan plan(std::int32_t devices, std::span<const std::int32_t> device_of) const;

 private:
  void insert(std::int32_t index, const SearchSpace& space, PlanEvaluator& evaluator);

  std::vector<Shard> shards_;
  std::vector<PlacementItem> order_;
};

}  // namespace neuroshard::search
