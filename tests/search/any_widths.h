#pragma once

#include "search/search_space.h"

namespace neuroshard::test {

/// What the tables allow, with their columns in any multiples of 4.
inline search::SearchSpace with_any_widths(const Workload& workload) {
  search::SearchSpace space = search::space_of(workload);
  for (search::TableSpace& table : space.tables) table.any_widths = true;
  return space;
}

}  // namespace neuroshard::test
