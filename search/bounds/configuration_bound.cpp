#include "search/bounds/configuration_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "search/bounds/configurations.h"
#include "search/bounds/piece_costs.h"
#include "search/bounds/table_holdings.h"

namespace neuroshard::search {
namespace {

constexpr std::size_t kMostApart = 64;     // kinds of tables that are told apart
constexpr std::size_t kMostClasses = 300;  // of knapsacks: such tables
constexpr std::size_t kMostGrains = 256;   // of a table that is told apart
// Above the bound that is there, a share; then doubled. For DLRM-DCNv2 on 8 devices, 2e7 steps gave
// 3.824 ms with it, 3.790 with 0.1 %, 3.786 with 2 %.
constexpr double kFirstStep = 1e-2;
constexpr double kClose = 3e-4;    // of what is refuted and what is not: enough
constexpr double kMuchSand = 0.5;  // of what all tables cost

/// Tables in the order of their costs, the costliest first.
std::vector<std::int32_t> by_cost(const std::vector<double>& costs) {
  std::vector<std::int32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return costs[static_cast<std::size_t>(a)] > costs[static_cast<std::size_t>(b)];
  });
  return order;
}

bool too_wide(const Table& table) {
  return static_cast<std::size_t>(table.dim) > kMostGrains * kLeastColumns;
}

/// Knapsacks take no items without weight.
bool has_free_pieces(const PieceCosts& costs) {
  const auto any = [](const std::vector<double>& pieces, std::size_t from) {
    return std::any_of(pieces.begin() + static_cast<std::ptrdiff_t>(std::min(from, pieces.size())),
                       pieces.end(), [](double cost) { return cost <= 0; });
  };
  return costs.block <= 0 || costs.replica <= 0 || any(costs.columns.even, 1) ||
         any(costs.columns.ragged, 0) || any(costs.on_host.even, 1) || any(costs.on_host.ragged, 0);
}

}  // namespace

double configuration_bound(const Problem& problem, PlanEvaluator& evaluator, const RowShapes& rows,
                           bool within_memory, const std::vector<double>& table_costs,
                           double area_bound, double most_work) {
  const double devices = problem.cluster.devices;
  Configurations all(devices, most_work);
  double sand = 0;
  std::map<PieceCosts, double> kinds;
  std::size_t classes = 0;
  for (const std::int32_t index : by_cost(table_costs)) {
    const double cost = table_costs[static_cast<std::size_t>(index)];
    const bool apart = kinds.size() < kMostApart && classes < kMostClasses && cost > 0 &&
                       !too_wide(*problem.space.of(index).table);
    PieceCosts pieces;
    if (apart) pieces = piece_costs(problem, index, evaluator, rows, within_memory);
    if (!apart || has_free_pieces(pieces)) {
      all.add_sand(cost);
      sand += cost;
      continue;
    }
    kinds.try_emplace(std::move(pieces), 0.0).first->second += 1;
    ++classes;
  }
  // Sand fills what pieces leave: of much of it, patterns say no more than the area.
  if (kinds.empty() || sand > kMuchSand * devices * area_bound) return area_bound;
  for (auto& [pieces, count] : kinds) all.add(TableHoldings(pieces, count, rows, devices));
  double low = area_bound;
  double high = kNever;
  double step = kFirstStep;
  while (all.has_time() && !(high < low * (1 + kClose))) {
    const double cost = std::isfinite(high) ? (low + high) / 2 : low * (1 + step);
    if (all.refuted(cost)) {
      low = cost;
      step = std::max(2 * step, all.lacking() / 2);
    } else {
      high = cost;
    }
  }
  return low;
}

}  // namespace neuroshard::search
