#include "search/bounds/lower_bound.h"

#include <algorithm>
#include <cmath>

#include "search/bounds/area_bound.h"
#include "search/bounds/configuration_bound.h"
#include "search/bounds/piece_costs.h"

namespace neuroshard::search {
namespace {

constexpr double kPlanRounding = 1e-6;  // share that sums of floats in plans may be off by
constexpr double kQuickWork = 2e7;
constexpr double kFullWork = 1e8;
constexpr double kMostPieces = 8e6;  // to ask the cost of: some tenths of a second

bool has_bound(const Problem& problem, const PlanEvaluator& evaluator, const RowShapes& rows) {
  if (!evaluator.additive() || rows.halves > 1) return false;
  double pieces = 0;
  for (const Table& table : problem.workload.tables) pieces += pieces_of(table, rows);
  return pieces <= kMostPieces;
}

}  // namespace

std::optional<double> lower_bound(const Problem& problem, PlanEvaluator& evaluator,
                                  const RowShapes& rows, const BoundOptions& options) {
  if (!has_bound(problem, evaluator, rows)) return std::nullopt;
  AreaBound area(problem, evaluator, rows, options.within_memory);
  double bound = area.find();
  if (!std::isfinite(bound)) return 0;
  if (options.effort != BoundEffort::kArea && bound > 0 && problem.cluster.devices > 1) {
    const double work = options.effort == BoundEffort::kFull ? kFullWork : kQuickWork;
    bound = configuration_bound(problem, evaluator, rows, options.within_memory, area.table_costs(),
                                bound, work);
  }
  return bound * (1 - kPlanRounding);
}

std::optional<std::vector<double>> least_table_costs(const Problem& problem,
                                                     PlanEvaluator& evaluator,
                                                     const RowShapes& rows) {
  if (!has_bound(problem, evaluator, rows)) return std::nullopt;
  std::vector<double> costs = AreaBound(problem, evaluator, rows, false).table_costs();
  for (double& cost : costs) cost *= 1 - kPlanRounding;
  return costs;
}

}  // namespace neuroshard::search
