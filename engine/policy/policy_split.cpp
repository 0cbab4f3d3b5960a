#include "engine/policy/policy_split.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/core/rng.h"

namespace neuroshard {
namespace {

constexpr double kHeldOutShare = 0.1;

}  // namespace

PolicySplit split_tables(std::size_t tables, const PolicyTasks& tasks, std::uint64_t seed) {
  std::vector<std::int32_t> ids(tables);
  std::iota(ids.begin(), ids.end(), 0);
  Rng rng = Rng(seed).fork(static_cast<std::uint64_t>(PolicyStream::kSplit));
  for (std::size_t k = ids.size(); k > 1; --k) std::swap(ids[k - 1], ids[rng.below(k)]);
  const auto share = static_cast<std::size_t>(kHeldOutShare * static_cast<double>(tables));
  const std::size_t large = std::min(static_cast<std::size_t>(tasks.max_tables), tables / 4);
  const std::size_t held =
      std::min(std::max({share, large, static_cast<std::size_t>(tasks.min_tables)}), tables);
  const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(held);
  return {{middle, ids.end()}, {ids.begin(), middle}};
}

}  // namespace neuroshard
