#include "io/trainers/torchrec_columns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "engine/core/shards_by_table.h"

namespace neuroshard::io {
namespace {

/// The devices with the rows of a column block, in order.
using Holders = std::vector<std::int32_t>;

Holders holders_of(const std::vector<Shard>& block) {
  Holders holders;
  for (const Shard& shard : block) holders.push_back(shard.device);
  return holders;
}

/// The columns of those that hold blocks of unequal widths, together.
std::map<Holders, std::int32_t> joined_widths(const std::vector<std::vector<Shard>>& blocks) {
  std::map<Holders, std::vector<std::int32_t>> widths;
  for (const std::vector<Shard>& block : blocks) {
    widths[holders_of(block)].push_back(block[0].dim());
  }
  std::map<Holders, std::int32_t> joined;
  for (const auto& [holders, own] : widths) {
    const auto other = std::adjacent_find(own.begin(), own.end(), std::not_equal_to<>());
    if (other == own.end()) continue;
    std::int32_t& sum = joined[holders];
    for (const std::int32_t width : own) sum += width;
  }
  return joined;
}

/// One table's, its columns dealt out anew where any are joined.
std::vector<Shard> joined_shards(std::span<const Shard> shards) {
  const std::vector<std::vector<Shard>> blocks = column_blocks(shards);
  std::map<Holders, std::int32_t> widths = joined_widths(blocks);
  if (widths.empty()) return {shards.begin(), shards.end()};
  std::vector<Shard> dealt;
  std::int32_t column = 0;
  for (const std::vector<Shard>& block : blocks) {
    const auto joined = widths.find(holders_of(block));
    const std::int32_t width =
        joined == widths.end() ? block[0].dim() : std::exchange(joined->second, 0);
    if (width == 0) continue;  // with the first of its holders
    for (Shard shard : block) {
      shard.column_begin = column;
      shard.column_end = column + width;
      dealt.push_back(shard);
    }
    column += width;
  }
  return dealt;
}

}  // namespace

std::vector<std::vector<Shard>> column_blocks(std::span<const Shard> shards) {
  std::vector<std::vector<Shard>> blocks;
  std::vector<Shard> sorted(shards.begin(), shards.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Shard& a, const Shard& b) { return a.column_begin < b.column_begin; });
  for (const Shard& shard : sorted) {
    if (blocks.empty() || blocks.back().front().column_begin != shard.column_begin) {
      blocks.emplace_back();
    } else if (blocks.back().front().column_end != shard.column_end) {
      return {};
    }
    blocks.back().push_back(shard);
  }
  return blocks;
}

std::string unequal_widths(std::span<const Shard> shards) {
  std::map<std::int32_t, std::int32_t> widths;  // of the first shard of each device
  for (const Shard& shard : shards) {
    const std::int32_t first = widths.emplace(shard.device, shard.dim()).first->second;
    if (first == shard.dim()) continue;
    return "shards of " + std::to_string(first) + " and " + std::to_string(shard.dim()) +
           " columns on rank " + std::to_string(shard.device) +
           ", TorchRec takes those of a table on one rank for equally wide";
  }
  return {};
}

std::string SequenceColumns::add(std::string_view module, const Table& table,
                                 std::string_view sharding_type, std::span<const Shard> shards) {
  if (table.pooled || sharding_type != "column_wise") return {};
  for (const Shard& shard : shards) {
    const std::pair collection(std::string(module), table.dim);
    const std::int32_t first = widths_.emplace(collection, shard.dim()).first->second;
    if (first == shard.dim()) continue;
    return "its lookups are not pooled, and shards of its module have " + std::to_string(first) +
           " and " + std::to_string(shard.dim()) +
           " columns, TorchRec takes those of an EmbeddingCollection for equally wide";
  }
  return {};
}

Plan torchrec_plan(Plan plan) {
  canonicalize(plan);
  std::vector<Shard> written;
  for (const std::span<const Shard> shards : shards_by_table(plan)) {
    const std::vector<Shard> own = joined_shards(shards);
    written.insert(written.end(), own.begin(), own.end());
  }
  plan.shards = std::move(written);
  canonicalize(plan);
  return plan;
}

}  // namespace neuroshard::io
