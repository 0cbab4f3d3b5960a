#include "search/packing/fullest_subset.h"

#include <numeric>

namespace neuroshard::search {

std::vector<std::size_t> fullest_subset(std::span<const std::int64_t> values, std::int64_t limit,
                                        std::int64_t nodes) {
  std::vector<std::int64_t> rest(values.size() + 1);  // what the values from here on add up to
  for (std::size_t k = values.size(); k > 0; --k) rest[k - 1] = rest[k] + values[k - 1];
  std::vector<std::size_t> chosen;
  std::vector<std::size_t> best;
  std::int64_t sum = 0;
  std::int64_t most = 0;
  for (std::size_t next = 0; most < limit;) {
    for (; next < values.size() && sum + rest[next] > most; ++next, --nodes) {
      if (sum + values[next] > limit) continue;
      sum += values[next];
      chosen.push_back(next);
    }
    if (sum > most) {
      most = sum;
      best = chosen;
    }
    if (chosen.empty() || nodes <= 0) break;
    const std::size_t last = chosen.back();
    chosen.pop_back();
    sum -= values[last];
    // Without it, and without its equals, which would do the same.
    for (next = last + 1; next < values.size() && values[next] == values[last];) ++next;
  }
  return best;
}

}  // namespace neuroshard::search
