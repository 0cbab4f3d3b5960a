#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard::io {

/// The shards of each column block of a table, blocks by first column; empty when the blocks are no
/// grid.
std::vector<std::vector<Shard>> column_blocks(std::span<const Shard> shards);

/// Why TorchRec 1.4 would cut the table's parameters wrongly: it takes all shards of a table on one
/// rank for as wide as the first. "" when they are.
std::string unequal_widths(std::span<const Shard> shards);

/// The columns that the EmbeddingCollections of a plan have, table after table. A value.
class SequenceColumns {
 public:
  /// Why TorchRec would fail on this table of `module` beside those before it: it takes all
  /// column_wise shards of an EmbeddingCollection for as wide as the first. "" when they are, when
  /// the table is pooled and when its sharding type is another. Tables of other dims are never in
  /// the same EmbeddingCollection (TorchRec makes none of them), whatever module is named.
  std::string add(std::string_view module, const Table& table, std::string_view sharding_type,
                  std::span<const Shard> shards);

 private:
  std::map<std::pair<std::string, std::int32_t>, std::int32_t> widths_;  // by module and dim
};

/// The plan as TorchRec holds it, in canonical order: where unequal_widths(), the columns that a
/// rank (or a host's ranks) has of the table are side by side, one shard.
Plan torchrec_plan(Plan plan);

}  // namespace neuroshard::io
