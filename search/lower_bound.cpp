#include "search/lower_bound.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kSteps = 40;           // of the bisection
constexpr double kRounding = 1e-6;   // share that sums of floats in plans may be off by
constexpr std::size_t kGrain = 4;    // columns
constexpr double kMostWork = 3e7;    // sums of two costs, of all steps: some tens of milliseconds
constexpr double kMostShapes = 3e4;  // to intern

/// What pieces of a table cost by their columns.
struct ColumnCosts {
  std::vector<double> even;    // [k]: of 4 k columns; empty: there are no such pieces
  std::vector<double> ragged;  // [k]: of 4 k columns and the table's odd ones; empty: it has none

  friend auto operator<=>(const ColumnCosts&, const ColumnCosts&) = default;
};

/// What a table's pieces cost.
struct PieceCosts {
  ColumnCosts columns;
  ColumnCosts on_host;         // blocks of rows over a host's devices, each
  double blocks = kInfinity;   // in even blocks of rows over all devices, together
  double dearest = kInfinity;  // of those blocks
  double replica = kInfinity;  // whole on every device, on each

  friend auto operator<=>(const PieceCosts&, const PieceCosts&) = default;
};

/// Adds what it costs to deal a table's rows out to so many devices, where it has enough of them.
void add_blocks(const SearchSpace& space, std::int32_t table, std::int32_t devices,
                PlanEvaluator& evaluator, PieceCosts& costs) {
  const std::int64_t block = even_block(space.of(table), devices);
  if (block == 0) return;
  const Table& whole = *space.of(table).table;
  const auto cost_of = [&](std::int64_t rows) {
    return evaluator.shape_cost(evaluator.intern(space.shape(table, rows, whole.dim, devices)));
  };
  const double cost = cost_of(block);
  const double last = cost_of(whole.rows - block * (devices - 1));
  costs.blocks = cost * (devices - 1) + last;
  costs.dearest = std::max(cost, last);
}

/// Whether the table may be in pieces of so many columns, of all its rows or a part.
bool allows(const TableSpace& whole, std::int32_t columns, bool all_rows) {
  if (columns == whole.table->dim) return whole.sharding.whole || !all_rows;
  return whole.sharding.allows_columns(columns);
}

/// Of pieces with so many rows, which are one of `row_blocks`.
ColumnCosts column_costs(const SearchSpace& space, std::int32_t table, std::int64_t rows,
                         std::int32_t row_blocks, PlanEvaluator& evaluator) {
  const auto dim = static_cast<std::size_t>(space.of(table).table->dim);
  const std::size_t grains = dim / kGrain;
  std::vector<ShardShape> shapes;
  const auto add = [&](std::size_t columns) {
    shapes.push_back(space.shape(table, rows, static_cast<std::int32_t>(columns), row_blocks));
  };
  for (std::size_t k = 1; k <= grains; ++k) add(kGrain * k);
  const std::size_t odd = dim % kGrain;
  for (std::size_t k = 0; odd > 0 && k <= grains; ++k) add(kGrain * k + odd);
  const std::vector<ShapeId> ids = evaluator.intern_all(shapes);
  ColumnCosts costs;
  costs.even.push_back(0);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const bool allowed = allows(space.of(table), shapes[k].dim, row_blocks == 0);
    (k < grains ? costs.even : costs.ragged)
        .push_back(allowed ? evaluator.shape_cost(ids[k]) : kInfinity);
  }
  return costs;
}

void keep_less(const std::vector<double>& other, std::vector<double>& costs) {
  for (std::size_t k = 0; k < costs.size(); ++k) costs[k] = std::min(costs[k], other[k]);
}

/// All blocks as cheap as the cheaper of the first and the last, which may have fewer rows.
ColumnCosts host_costs(const SearchSpace& space, std::int32_t table, std::int32_t host_devices,
                       PlanEvaluator& evaluator) {
  const std::int64_t block = even_block_of_host(space.of(table), host_devices);
  if (block == 0) return {};
  ColumnCosts costs = column_costs(space, table, block, host_devices, evaluator);
  const std::int64_t rest = space.of(table).table->rows - block * (host_devices - 1);
  const ColumnCosts last = column_costs(space, table, rest, host_devices, evaluator);
  keep_less(last.even, costs.even);
  keep_less(last.ragged, costs.ragged);
  return costs;
}

/// The least that a table costs in pieces of at most `most` each.
double cheapest_columns(const ColumnCosts& costs, double most, std::vector<double>& least) {
  if (costs.even.empty()) return kInfinity;
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

double cheapest_division(const PieceCosts& costs, const RowShapes& rows, double most,
                         std::vector<double>& least) {
  const double columns =
      std::min(cheapest_columns(costs.columns, most, least),
               std::max(1, rows.host) * cheapest_columns(costs.on_host, most, least));
  const double blocks = costs.dearest <= most ? costs.blocks : kInfinity;
  const double replicas = costs.replica <= most ? rows.replicas * costs.replica : kInfinity;
  return std::min({columns, blocks, replicas});
}

PieceCosts piece_costs(const SearchSpace& space, std::int32_t table, PlanEvaluator& evaluator,
                       const RowShapes& rows) {
  PieceCosts costs;
  costs.columns = column_costs(space, table, space.of(table).table->rows, 0, evaluator);
  costs.on_host = host_costs(space, table, rows.host, evaluator);
  add_blocks(space, table, rows.blocks, evaluator, costs);
  if (rows.replicas > 1 && may_be_replicated(space.of(table))) {
    costs.replica = evaluator.shape_cost(evaluator.intern(space.replica(table)));
  }
  return costs;
}

/// All tables, equal ones together.
class Bound {
 public:
  Bound(const SearchSpace& space, PlanEvaluator& evaluator, const RowShapes& rows) : rows_(rows) {
    std::map<PieceCosts, double> known;
    for (std::size_t index = 0; index < space.tables.size(); ++index) {
      ++known[piece_costs(space, static_cast<std::int32_t>(index), evaluator, rows)];
    }
    for (const auto& [costs, count] : known) {
      tables_.push_back({costs, count});
      for (const ColumnCosts& each : {costs.columns, costs.on_host}) {
        work_ += static_cast<double>(each.even.size() * each.even.size());
      }
    }
  }

  /// Of all tables, in pieces of at most `most`.
  double total(double most) {
    double sum = 0;
    for (const auto& [costs, count] : tables_) {
      sum += count * cheapest_division(costs, rows_, most, least_);
    }
    return sum;
  }
  [[nodiscard]] double work() const { return work_; }

 private:
  const RowShapes rows_;
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
  Bound bound(problem.space, evaluator, rows);
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

std::optional<std::vector<double>> least_table_costs(const Problem& problem,
                                                     PlanEvaluator& evaluator,
                                                     const RowShapes& rows) {
  if (!evaluator.additive() || rows.halves > 1 || !affordable(problem.workload)) {
    return std::nullopt;
  }
  std::vector<double> costs;
  std::vector<double> least;
  for (std::size_t index = 0; index < problem.workload.tables.size(); ++index) {
    const auto table = static_cast<std::int32_t>(index);
    const PieceCosts pieces = piece_costs(problem.space, table, evaluator, rows);
    costs.push_back(cheapest_division(pieces, rows, kInfinity, least) * (1 - kRounding));
  }
  return costs;
}

}  // namespace neuroshard::search
