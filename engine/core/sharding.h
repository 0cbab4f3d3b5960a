#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard {

/// One way in which a table is on devices.
enum class ShardingKind {
  kWhole,         ///< on one device
  kColumns,       ///< shards of some of its columns
  kRows,          ///< shards of some of its rows, perhaps of some of those columns
  kDataParallel,  ///< whole on every device
};

/// All of them, in the order of messages and files.
std::span<const ShardingKind> all_sharding_kinds();

/// The words of the file formats: "whole", "columns", "rows", "data_parallel".
std::string_view to_string(ShardingKind kind);
Result<ShardingKind> parse_sharding_kind(std::string_view text);
/// "'whole', 'columns', 'rows' or 'data_parallel'", as messages say it.
std::string sharding_kinds();

/// Columns of the narrowest shard that searches make unless told otherwise, and what all such
/// limits are multiples of.
inline constexpr std::int32_t kLeastColumns = 4;

/// In which ways searches may put a table on devices. On a single device every table is whole.
struct AllowedSharding {
  bool whole = true;
  bool columns = true;
  bool rows = true;  ///< with columns: blocks of rows x columns, too
  bool data_parallel = true;
  std::int32_t min_columns = kLeastColumns;  ///< of shards that are narrower than the table

  void set(ShardingKind kind, bool allowed);
  [[nodiscard]] bool allows(ShardingKind kind) const;
  /// A shard of some columns, so many. The least limit is no more than what searches keep to.
  [[nodiscard]] bool allows_columns(std::int32_t dim) const {
    return columns && (dim >= min_columns || min_columns == kLeastColumns);
  }
  [[nodiscard]] bool allows_all_kinds() const { return whole && columns && rows && data_parallel; }

  friend bool operator==(const AllowedSharding&, const AllowedSharding&) = default;
};

/// "whole, columns": the kinds that are allowed.
std::string describe(const AllowedSharding& allowed);

/// At least one kind, min_columns a multiple of kLeastColumns from that to `most`.
Status validate(const AllowedSharding& allowed, std::int32_t most);

}  // namespace neuroshard
