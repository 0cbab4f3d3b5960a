#include "engine/core/shards_by_table.h"

#include <cstddef>

namespace neuroshard {

std::vector<std::span<const Shard>> shards_by_table(const Plan& plan) {
  std::vector<std::span<const Shard>> tables;
  const std::span<const Shard> all = plan.shards;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].table == all[begin].table) ++end;
    tables.push_back(all.subspan(begin, end - begin));
  }
  return tables;
}

}  // namespace neuroshard
