#include "engine/core/random_subset.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace neuroshard {
namespace {

std::vector<std::int32_t> first_of_shuffled(std::vector<std::int32_t> ids, std::size_t count,
                                            Rng& rng) {
  count = std::min(count, ids.size());
  for (std::size_t k = 0; k < count; ++k) {
    std::swap(ids[k], ids[k + rng.below(ids.size() - k)]);
  }
  ids.resize(count);
  return ids;
}

}  // namespace

std::vector<std::int32_t> random_subset(std::span<const std::int32_t> ids, std::size_t count,
                                        Rng& rng) {
  return first_of_shuffled({ids.begin(), ids.end()}, count, rng);
}

std::vector<std::int32_t> random_subset(std::size_t size, std::size_t count, Rng& rng) {
  std::vector<std::int32_t> ids(size);
  std::iota(ids.begin(), ids.end(), 0);
  return first_of_shuffled(std::move(ids), count, rng);
}

}  // namespace neuroshard
