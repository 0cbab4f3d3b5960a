#include "engine/core/sharding.h"

#include <algorithm>
#include <array>

#include "engine/core/quoted_choices.h"

namespace neuroshard {
namespace {

constexpr std::array kKinds{ShardingKind::kWhole, ShardingKind::kColumns, ShardingKind::kRows,
                            ShardingKind::kDataParallel};

/// The one flag of each kind, of a constant or other AllowedSharding.
template <typename Allowed>
auto& flag_of(Allowed& allowed, ShardingKind kind) {
  switch (kind) {
    case ShardingKind::kColumns:
      return allowed.columns;
    case ShardingKind::kRows:
      return allowed.rows;
    case ShardingKind::kDataParallel:
      return allowed.data_parallel;
    default:
      return allowed.whole;
  }
}

}  // namespace

std::span<const ShardingKind> all_sharding_kinds() { return kKinds; }

std::string_view to_string(ShardingKind kind) {
  switch (kind) {
    case ShardingKind::kColumns:
      return "columns";
    case ShardingKind::kRows:
      return "rows";
    case ShardingKind::kDataParallel:
      return "data_parallel";
    default:
      return "whole";
  }
}

Result<ShardingKind> parse_sharding_kind(std::string_view text) {
  for (const ShardingKind kind : kKinds) {
    if (text == to_string(kind)) return kind;
  }
  return invalid_input("sharding '" + std::string(text) + "', expected " + sharding_kinds());
}

std::string sharding_kinds() { return quoted_choices(all_sharding_kinds()); }

void AllowedSharding::set(ShardingKind kind, bool allowed) { flag_of(*this, kind) = allowed; }

bool AllowedSharding::allows(ShardingKind kind) const { return flag_of(*this, kind); }

std::string describe(const AllowedSharding& allowed) {
  std::string text;
  for (const ShardingKind kind : kKinds) {
    if (!allowed.allows(kind)) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(kind));
  }
  return text;
}

Status validate(const AllowedSharding& allowed, std::int32_t most) {
  const auto is_allowed = [&](ShardingKind kind) { return allowed.allows(kind); };
  if (std::none_of(kKinds.begin(), kKinds.end(), is_allowed)) {
    return invalid_input("sharding allows nothing, expected some of " + sharding_kinds());
  }
  const std::int32_t columns = allowed.min_columns;
  if (columns >= kLeastColumns && columns <= most && columns % kLeastColumns == 0) return {};
  return invalid_input("min_columns is " + std::to_string(columns) + ", expected a multiple of " +
                       std::to_string(kLeastColumns) + " from " + std::to_string(kLeastColumns) +
                       " to " + std::to_string(most));
}

}  // namespace neuroshard
