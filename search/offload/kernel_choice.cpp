#include "search/offload/kernel_choice.h"

#include <algorithm>
#include <cstddef>

#include "search/offload/kernel_enumeration.h"
#include "search/offload/memory_prices.h"

namespace neuroshard::search {
namespace {

/// Another option of a table, and what it saves for what it needs.
struct Upgrade {
  std::size_t table = 0;
  int option = 0;
  double worth = 0;  ///< milliseconds a byte
};

/// All options that are cheaper than those chosen, best first.
std::vector<Upgrade> upgrades(std::span<const std::vector<KernelOption>> tables,
                              const std::vector<int>& chosen) {
  std::vector<Upgrade> list;
  for (std::size_t table = 0; table < tables.size(); ++table) {
    const KernelOption& now = tables[table][static_cast<std::size_t>(chosen[table])];
    for (std::size_t k = 0; k < tables[table].size(); ++k) {
      const KernelOption& other = tables[table][k];
      if (other.cost >= now.cost) continue;
      const double needs = std::max(1.0, other.device_bytes - now.device_bytes);
      list.push_back({table, static_cast<int>(k), (now.cost - other.cost) / needs});
    }
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Upgrade& a, const Upgrade& b) { return a.worth > b.worth; });
  return list;
}

/// Takes what still fits, best first, until nothing does.
void fill_up(std::span<const std::vector<KernelOption>> tables, const MemoryLimits& limits,
             std::vector<int>& chosen, ChoiceSums& sums) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Upgrade& upgrade : upgrades(tables, chosen)) {
      const std::vector<KernelOption>& options = tables[upgrade.table];
      int& own = chosen[upgrade.table];
      const KernelOption& now = options[static_cast<std::size_t>(own)];
      const KernelOption& other = options[static_cast<std::size_t>(upgrade.option)];
      if (other.cost >= now.cost) continue;
      ChoiceSums after = sums;
      after.add(now, -1);
      after.add(other);
      if (!after.within(limits)) continue;
      sums = after;
      own = upgrade.option;
      changed = true;
    }
  }
}

}  // namespace

std::optional<KernelChoice> choose_kernels(std::span<const std::vector<KernelOption>> tables,
                                           const MemoryLimits& limits) {
  const auto [cheapest, bound] = find_prices(tables, limits);
  std::vector<int> best;
  ChoiceSums sums;
  if (cheapest.sums.within(limits)) {
    best = cheapest.options;
    sums = cheapest.sums;
    fill_up(tables, limits, best, sums);
  }
  enumerate_kernels(tables, limits, cheapest, best, sums);
  if (best.empty()) return std::nullopt;
  return KernelChoice{best, sums.cost, bound};
}

double least_choice_cost(std::span<const std::vector<KernelOption>> tables,
                         const MemoryLimits& limits) {
  return find_prices(tables, limits).bound;
}

}  // namespace neuroshard::search
