#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/random_sets.h"

namespace neuroshard {

/// What a collection draws its shards from. Const access is thread-safe.
struct ShardPool {
  std::vector<Table> whole;    ///< every table at every dim of dim_choices()
  std::vector<Table> entries;  ///< those, then row shards of them as the pool file describes them

  /// The pool of `tables` (augmented_pool) with lookups drawn as `mix` says; with row_parts > 1
  /// every entry has a twin that is a row shard (draw_row_parts). Errors: kInvalidInput naming a
  /// table that is not valid, not fp32, has weights of its lookups, no optimizer that is known or
  /// another than the first: the pool file has no place for them.
  static Result<ShardPool> make(const std::vector<Table>& tables, std::int32_t max_dim,
                                std::int32_t row_parts, const LookupMix& mix = {},
                                bool every_dim = false);

  /// Adds entry `id` to a set: its table, and the shard of it to measure.
  void add(std::int32_t id, Workload& workload, std::vector<Shard>& shards) const;
  /// Values that entry `id` sends for each sample, as whole columns: of an output a feature or,
  /// where they are not pooled, a lookup.
  [[nodiscard]] std::int64_t columns_sent(std::int32_t id) const;
};

/// kInvalidInput naming the first of `tables` whose lookups only simulations know, where the pool
/// has one.
Status check_has_kernels(const ShardPool& pool, std::size_t tables);

}  // namespace neuroshard
