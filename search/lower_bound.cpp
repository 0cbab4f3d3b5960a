#include "search/lower_bound.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "search/feasibility.h"

namespace neuroshard::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kSteps = 40;           // of the bisection
constexpr double kRounding = 1e-6;   // share that sums of floats in plans may be off by
constexpr std::size_t kGrain = 4;    // columns
constexpr double kMostWork = 3e7;    // sums of two costs, of all steps: some tens of milliseconds
constexpr double kMostShapes = 3e4;  // to intern

/// What a table's pieces cost.
struct PieceCosts {
  std::vector<double> even;    // [k]: of 4 k columns
  std::vector<double> ragged;  // [k]: of 4 k columns and the table's odd ones; empty: it has none
  double blocks = kInfinity;   // in even blocks of rows over all devices, together
  double dearest = kInfinity;  // of those blocks

  friend auto operator<=>(const PieceCosts&, const PieceCosts&) = default;
};

/// Adds what it costs to deal a table's rows out to so many devices, where it has enough of them.
void add_blocks(const Workload& workload, std::int32_t table, std::int32_t devices,
                PlanEvaluator& evaluator, PieceCosts& costs) {
  const Table& whole = workload.tables[static_cast<std::size_t>(table)];
  const std::int64_t block = devices > 1 ? even_block(whole.rows, devices) : 0;
  if (block == 0) return;
  const double cost = evaluator.shape_cost(evaluator.intern({table, block, whole.dim}));
  const std::int64_t rest = whole.rows - block * (devices - 1);
  const double last = evaluator.shape_cost(evaluator.intern({table, rest, whole.dim}));
  costs.blocks = cost * (devices - 1) + last;
  costs.dearest = std::max(cost, last);
}

PieceCosts piece_costs(const Workload& workload, std::int32_t table, PlanEvaluator& evaluator) {
  const Table& whole = workload.tables[static_cast<std::size_t>(table)];
  const auto dim = static_cast<std::size_t>(whole.dim);
  const std::size_t grains = dim / kGrain;
  std::vector<ShardShape> shapes;
  const auto add = [&](std::size_t columns) {
    shapes.push_back({table, whole.rows, static_cast<std::int32_t>(columns)});
  };
  for (std::size_t k = 1; k <= grains; ++k) add(kGrain * k);
  const std::size_t odd = dim % kGrain;
  for (std::size_t k = 0; odd > 0 && k <= grains; ++k) add(kGrain * k + odd);
  const std::vector<ShapeId> ids = evaluator.intern_all(shapes);
  PieceCosts costs;
  costs.even.push_back(0);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    (k < grains ? costs.even : costs.ragged).push_back(evaluator.shape_cost(ids[k]));
  }
  return costs;
}

/// The least that a table costs in pieces of at most `most` each.
double cheapest_columns(const PieceCosts& costs, double most, std::vector<double>& least) {
  const std::size_t grains = costs.even.size() - 1;
  least.assign(grains + 1, kInfinity);
  least[0] = 0;
  for (std::size_t columns = 1; columns <= grains; ++columns) {
    for (std::size_t k = 1; k <= columns; ++k) {
      if (costs.even[k] > most) continue;
      least[columns] = std::min(least[columns], costs.even[k] + least[columns - k]);
    }
  }
  if (costs.ragged.empty()) return least[grains];
  double total = kInfinity;
  for (std::size_t k = 0; k <= grains; ++k) {
    if (costs.ragged[k] <= most) total = std::min(total, costs.ragged[k] + least[grains - k]);
  }
  return total;
}

double cheapest_division(const PieceCosts& costs, double most, std::vector<double>& least) {
  const double columns = cheapest_columns(costs, most, least);
  return costs.dearest <= most ? std::min(columns, costs.blocks) : columns;
}

/// All tables, equal ones together.
class Bound {
 public:
  Bound(const Workload& workload, PlanEvaluator& evaluator, const RowShapes& rows) {
    std::map<PieceCosts, double> known;
    for (std::size_t index = 0; index < workload.tables.size(); ++index) {
      const auto table = static_cast<std::int32_t>(index);
      PieceCosts costs = piece_costs(workload, table, evaluator);
      add_blocks(workload, table, rows.blocks, evaluator, costs);
      ++known[std::move(costs)];
    }
    for (const auto& [costs, count] : known) {
      tables_.push_back({costs, count});
      work_ += static_cast<double>(costs.even.size() * costs.even.size());
    }
  }

  /// Of all tables, in pieces of at most `most`.
  double total(double most) {
    double sum = 0;
    for (const auto& [costs, count] : tables_) {
      sum += count * cheapest_division(costs, most, least_);
    }
    return sum;
  }
  [[nodiscard]] double work() const { return work_; }

 private:
  std::vector<std::pair<PieceCosts, double>> tables_;
  std::vector<double> least_;
  double work_ = 0;
};

/// Whether all shapes can be asked for, and the widest table divided, in little time.
bool affordable(const Workload& workload) {
  double shapes = 0;
  double widest = 0;
  for (const Table& table : workload.tables) {
    const double grains = table.dim / static_cast<double>(kGrain);
    shapes += grains;
    widest = std::max(widest, grains);
  }
  return shapes <= kMostShapes && widest * widest <= kMostWork;
}

}  // namespace

std::optional<double> lower_bound(const Problem& problem, PlanEvaluator& evaluator,
                                  const RowShapes& rows) {
  if (!evaluator.additive() || rows.halves > 1 || !affordable(problem.workload)) {
    return std::nullopt;
  }
  Bound bound(problem.workload, evaluator, rows);
  if (bound.work() > kMostWork) return std::nullopt;
  const double devices = problem.cluster.devices;
  double low = bound.total(kInfinity) / devices;
  // `low` is a bound at every step, so that there may be as few of them as there is time for.
  const auto too_low = [&](double cost) { return bound.total(cost) > devices * cost; };
  const int steps = std::min(kSteps, static_cast<int>(kMostWork / std::max(1.0, bound.work())));
  if (steps > 1 && low > 0 && std::isfinite(low) && too_low(low)) {
    double high = low;
    while (too_low(high)) high *= 2;
    for (int step = 0; step < steps; ++step) {
      const double middle = (low + high) / 2;
      (too_low(middle) ? low : high) = middle;
    }
  }
  return std::isfinite(low) ? low * (1 - kRounding) : 0;
}

}  // namespace neuroshard::search
