#include "search/bounds/area_bound.h"

#include <algorithm>
#include <cmath>

namespace neuroshard::search {
namespace {

constexpr int kSteps = 40;          // of the bisection
constexpr double kMostWork = 3e7;   // sums of two costs, of all steps: some tens of milliseconds
constexpr double kMostSteps = 4e8;  // to divide all tables in every way: half a second

double most_steps(const Workload& workload) {
  double steps = 0;
  for (const Table& table : workload.tables) {
    const double grains = table.dim / static_cast<double>(kLeastColumns);
    if (grains <= kWidestDivided) steps += grains * grains;
  }
  return steps;
}

}  // namespace

AreaBound::AreaBound(const Problem& problem, PlanEvaluator& evaluator, const RowShapes& rows,
                     bool within_memory)
    : problem_(problem),
      evaluator_(evaluator),
      rows_(rows),
      within_memory_(within_memory),
      widest_(most_steps(problem.workload) > kMostSteps ? 0 : kWidestDivided) {
  const auto tables = static_cast<std::int32_t>(problem.space.tables.size());
  for (std::int32_t table = 0; table < tables; ++table) {
    const PieceCosts pieces = piece_costs(problem, table, evaluator, rows, within_memory);
    least_costs_.push_back(cheapest_division(pieces, rows, kNever, least_, widest_));
    dearest_.push_back(pieces.most());
    sum_ += least_costs_.back();
  }
}

void AreaBound::gather_heavy(double most) {
  for (std::size_t index = 0; index < dearest_.size(); ++index) {
    if (dearest_[index] <= most) continue;
    const auto table = static_cast<std::int32_t>(index);
    heavy_.push_back(
        {piece_costs(problem_, table, evaluator_, rows_, within_memory_), least_costs_[index]});
    const PieceCosts& own = heavy_.back().pieces;
    work_ += division_steps(own.columns, widest_) + division_steps(own.on_host, widest_);
  }
}

double AreaBound::total(double most) {
  double sum = sum_;
  for (const Heavy& table : heavy_) {
    sum += cheapest_division(table.pieces, rows_, most, least_, widest_) - table.least;
  }
  return sum;
}

double AreaBound::find() {
  const double devices = problem_.cluster.devices;
  double low = sum_ / devices;
  if (!std::isfinite(low) || low <= 0) return low;
  gather_heavy(low);
  // `low` is a bound at every step, so that there may be as few of them as there is time for.
  const auto too_low = [&](double cost) { return total(cost) > devices * cost; };
  const int steps = std::min(kSteps, static_cast<int>(kMostWork / std::max(1.0, work_)));
  if (steps <= 1 || !too_low(low)) return low;
  double high = low;
  while (too_low(high)) high *= 2;
  for (int step = 0; step < steps; ++step) {
    const double middle = (low + high) / 2;
    (too_low(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace neuroshard::search
