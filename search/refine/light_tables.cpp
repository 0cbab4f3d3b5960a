#include "search/refine/light_tables.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "search/piece_sizes.h"
#include "search/refine/divider.h"

namespace neuroshard::search {
namespace {

// plan of 100,000 generated tables on 4,096 devices, one thread of a 2-core AMD EPYC: a size took
// 1.5 us to learn by h200_sim and 0.4 us by TorchRec's formula, so that these are 15 and 20 % of
// the time.
constexpr double kSizesASecond = 100'000;
constexpr double kAdditiveSizesASecond = 500'000;
constexpr double kSizesAnEvaluation = 1;
constexpr double kSizesAtLeast = 20'000;
constexpr std::int64_t kMuchMemory = 8;  // what takes more than one in so many of a device's bytes

double affordable_sizes(const SearchOptions& options, bool additive) {
  const double a_second = additive ? kAdditiveSizesASecond : kSizesASecond;
  const double affordable = options.evaluations > 0
                                ? kSizesAnEvaluation * static_cast<double>(options.evaluations)
                                : a_second * options.time_limit_s;
  return std::max(kSizesAtLeast, affordable);
}

/// In how many sizes a table's pieces may be, about: halving leads to one or two of each.
std::int64_t sizes_of(const TableSpace& table, const RowShapes& rows) {
  const auto halvings = [](std::int64_t parts) {
    return parts > 1 ? std::bit_width(static_cast<std::uint64_t>(parts - 1)) : 0;
  };
  const std::int64_t widths = 2 * halvings(table.table->dim / kLeastColumns);
  std::int64_t sizes = table.sharding.columns ? widths : 0;
  if (table.sharding.rows) {
    sizes += 2 * halvings(std::min<std::int64_t>(rows.halves, table.table->rows));
    sizes += (rows.blocks > 1 ? 1 : 0) + (rows.host > 1 ? 1 + widths : 0);
  }
  return sizes;
}

/// Milliseconds of each table, whole and alone.
std::vector<double> whole_costs(const SearchSpace& space, PlanEvaluator& evaluator) {
  std::vector<ShardShape> shapes;
  for (std::size_t table = 0; table < space.tables.size(); ++table) {
    shapes.push_back(space.whole(static_cast<std::int32_t>(table)));
  }
  std::vector<double> costs;
  for (const ShapeId id : evaluator.intern_all(shapes)) costs.push_back(evaluator.shape_cost(id));
  return costs;
}

}  // namespace

std::optional<Problem> with_light_tables_whole(const Problem& problem, PlanEvaluator& evaluator,
                                               const RowShapes& rows,
                                               const SearchOptions& options) {
  if (problem.cluster.devices == 1) return std::nullopt;
  double left = affordable_sizes(options, evaluator.additive());
  double all = 0;
  for (const TableSpace& table : problem.space.tables) {
    all += static_cast<double>(sizes_of(table, rows));
  }
  if (all <= left) return std::nullopt;
  const std::vector<double> costs = whole_costs(problem.space, evaluator);
  Problem light = problem;
  const std::int64_t much = problem.cluster.memory_bytes / kMuchMemory;
  for (const std::int32_t table : costliest_first(costs)) {
    TableSpace& own = light.space.tables[static_cast<std::size_t>(table)];
    left -= static_cast<double>(sizes_of(own, rows));
    if (left >= 0 || !own.sharding.whole || light.space.whole_bytes(table) > much) continue;
    own.sharding.columns = false;
    own.sharding.rows = false;
  }
  return light;
}

}  // namespace neuroshard::search
