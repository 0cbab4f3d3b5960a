#include "engine/planner/robust/mixed_plans.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/planner/memory_limits.h"

namespace neuroshard {
namespace {

/// Of the tables that the two models disagree about: by how many more or fewer another plan is
/// made.
constexpr std::ptrdiff_t kParts = 8;

/// A table in one of its two layouts instead of the other.
struct Choice {
  std::size_t table = 0;
  double saves = 0;  ///< share of the first model's best cost, in the first plan's layout
  double costs = 0;  ///< share of the second's
};

Plan with_layouts(const Plan& base, const Plan& other, const std::vector<bool>& from_other) {
  Plan plan{base.devices, {}};
  const auto add = [&](const Plan& from, bool which) {
    for (const Shard& shard : from.shards) {
      if (from_other[static_cast<std::size_t>(shard.table)] == which) plan.shards.push_back(shard);
    }
  };
  add(base, false);
  add(other, true);
  canonicalize(plan);
  return plan;
}

}  // namespace

std::vector<Plan> mixed_plans(CostPanel& panel, std::size_t first, const Plan& one,
                              std::size_t second, const Plan& other,
                              std::span<const double> best_ms) {
  const std::vector<double> first_by_one = panel.table_costs(first, one);
  const std::vector<double> first_by_other = panel.table_costs(first, other);
  const std::vector<double> second_by_one = panel.table_costs(second, one);
  const std::vector<double> second_by_other = panel.table_costs(second, other);
  std::vector<bool> as_one(first_by_one.size());
  std::vector<Choice> choices;
  double first_regret = 0;
  for (std::size_t table = 0; table < as_one.size(); ++table) {
    const Choice choice{table, (first_by_other[table] - first_by_one[table]) / best_ms[first],
                        (second_by_one[table] - second_by_other[table]) / best_ms[second]};
    as_one[table] = choice.costs <= 0;
    if (choice.costs <= 0 || choice.saves <= 0) continue;
    choices.push_back(choice);
    first_regret += choice.saves;
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.saves * b.costs > b.saves * a.costs;
  });
  const auto count = std::ssize(choices);
  std::ptrdiff_t even = 0;
  double second_regret = 0;
  while (even < count && second_regret < first_regret) {
    const Choice& next = choices[static_cast<std::size_t>(even++)];
    first_regret -= next.saves;
    second_regret += next.costs;
  }
  std::vector<Plan> plans;
  const std::ptrdiff_t step = std::max<std::ptrdiff_t>(1, count / kParts);
  for (const std::ptrdiff_t beyond : {0, -1, 1, -2, 2}) {
    const std::ptrdiff_t few = even + beyond * step;
    if (few < 0 || few > count) continue;
    std::vector<bool> from_one = as_one;
    for (std::ptrdiff_t k = 0; k < few; ++k) {
      from_one[choices[static_cast<std::size_t>(k)].table] = true;
    }
    Plan plan = with_layouts(other, one, from_one);
    const Cluster& cluster = panel.cluster();
    const Status fits = check_memory(panel.workload(), plan, cluster.memory_bytes, cluster.buffers);
    if (fits.ok()) plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace neuroshard
