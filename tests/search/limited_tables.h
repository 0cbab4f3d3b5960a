#pragma once

#include <cstdint>

#include "tests/search/table_evaluator.h"

// Tables that may be in one kind of sharding only, or in some.

namespace neuroshard::test {

inline constexpr AllowedSharding kOnlyWhole{
    .columns = false, .rows = false, .data_parallel = false};
inline constexpr AllowedSharding kOnlyColumns{
    .whole = false, .rows = false, .data_parallel = false};
inline constexpr AllowedSharding kOnlyRows{
    .whole = false, .columns = false, .data_parallel = false};
inline constexpr AllowedSharding kOnlyReplicas{.whole = false, .columns = false, .rows = false};

inline Table table_of(std::int64_t rows, std::int32_t dim, const AllowedSharding& sharding) {
  Table table = make_table(rows, dim);
  table.sharding = sharding;
  return table;
}

}  // namespace neuroshard::test
