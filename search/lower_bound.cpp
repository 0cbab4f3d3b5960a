#include "search/lower_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace neuroshard::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kSteps = 40;           // of the bisection
constexpr double kRounding = 1e-6;   // share that sums of floats in plans may be off by
constexpr std::size_t kGrain = 4;    // columns
constexpr double kMostWork = 3e7;    // sums of two costs, of all steps: some tens of milliseconds
constexpr double kMostShapes = 3e4;  // to intern

/// What a table's pieces cost by their columns.
struct PieceCosts {
  std::vector<double> even;    // [k]: of 4 k columns
  std::vector<double> ragged;  // [k]: of 4 k columns and the table's odd ones; empty: it has none
};

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
double cheapest_division(const PieceCosts& costs, double most, std::vector<double>& least) {
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

/// All tables, equal ones together.
class Bound {
 public:
  Bound(const Workload& workload, PlanEvaluator& evaluator) {
    std::map<std::pair<std::vector<double>, std::vector<double>>, double> known;
    for (std::size_t table = 0; table < workload.tables.size(); ++table) {
      PieceCosts costs = piece_costs(workload, static_cast<std::int32_t>(table), evaluator);
      ++known[{std::move(costs.even), std::move(costs.ragged)}];
    }
    for (const auto& [costs, count] : known) {
      tables_.push_back({{costs.first, costs.second}, count});
      work_ += static_cast<double>(costs.first.size() * costs.first.size());
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

std::optional<double> lower_bound(const Problem& problem, PlanEvaluator& evaluator) {
  if (!evaluator.additive() || !affordable(problem.workload)) return std::nullopt;
  Bound bound(problem.workload, evaluator);
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
