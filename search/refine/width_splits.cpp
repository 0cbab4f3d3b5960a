#include "search/refine/width_splits.h"

#include <algorithm>
#include <cmath>

namespace neuroshard::search {

std::vector<WidthSplit> width_splits(std::span<const WideTable> tables, double narrow_ms,
                                     std::int32_t devices, std::size_t most) {
  std::vector<double> wide(tables.size() + 1, 0.0);  // milliseconds, by how many are wide
  std::vector<double> narrow(wide.size(), narrow_ms);
  for (std::size_t k = 0; k < tables.size(); ++k) wide[k + 1] = wide[k] + tables[k].wide_ms;
  for (std::size_t k = tables.size(); k > 0; --k) {
    narrow[k - 1] = narrow[k] + tables[k - 1].narrow_ms;
  }
  std::size_t fastest = 0;
  for (std::size_t k = 1; k < wide.size(); ++k) {
    if (wide[k] + narrow[k] < wide[fastest] + narrow[fastest]) fastest = k;
  }
  const double all = wide[fastest] + narrow[fastest];
  const double share = all > 0 ? devices * wide[fastest] / all : 0;
  const bool all_wide = fastest == tables.size() && narrow_ms == 0;
  const auto within = [&](double about) {
    return std::clamp(static_cast<std::int32_t>(about), fastest == 0 ? 0 : 1,
                      all_wide ? devices : devices - 1);
  };
  std::vector<WidthSplit> splits{{fastest, within(std::floor(share))}};
  const std::int32_t above = within(std::ceil(share));
  if (above != splits[0].devices) splits.push_back({fastest, above});

  std::vector<std::int32_t> others;
  for (std::int32_t own = 1; own < devices; ++own) others.push_back(own);
  std::stable_sort(others.begin(), others.end(), [&](std::int32_t a, std::int32_t b) {
    return std::abs(a - share) < std::abs(b - share);
  });
  others.resize(std::min(others.size(), most));
  for (const std::int32_t own : others) {
    const auto slowest = [&](std::size_t k) {
      return std::max(wide[k] / own, narrow[k] / (devices - own));
    };
    std::size_t best = 0;
    for (std::size_t k = 1; k < wide.size(); ++k) {
      if (slowest(k) < slowest(best)) best = k;
    }
    if (best != fastest) splits.push_back({best, own});
  }
  return splits;
}

}  // namespace neuroshard::search
