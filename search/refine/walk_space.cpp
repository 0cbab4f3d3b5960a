#include "search/refine/walk_space.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "search/refine/sequence_parts.h"

namespace neuroshard::search {
namespace {

/// That of tables whose number of pieces is not decided; nothing: halves, as without a word.
std::int32_t parts_of(const Plan& plan, const SearchSpace& space) {
  const bool any = std::any_of(space.tables.begin(), space.tables.end(), [](const TableSpace& own) {
    return !own.table->pooled && own.sequence_parts == 0;
  });
  const std::int32_t parts = any ? sequence_parts_of(plan, space) : 0;
  return parts > 2 ? parts : 0;
}

}  // namespace

Problem with_hot_rows(Problem problem, std::span<const HotRows> hot) {
  for (const HotRows& rows : hot) {
    TableSpace& own = problem.space.tables[static_cast<std::size_t>(rows.table)];
    own.kernel.hot_rows = rows.rows;
    own.sharding.data_parallel = false;
    if (own.hot_rows == HotRowsBeside::kWhole) own.sharding.columns = own.sharding.rows = false;
    problem.cluster.memory_bytes -= hot_row_bytes(*own.table, rows.rows, problem.space.step);
  }
  return problem;
}

std::optional<WalkSpace> space_of_walks(const Plan& plan, const Problem& problem,
                                        PlanEvaluator& evaluator, const RowShapes& rows,
                                        const SearchOptions& options) {
  const std::vector<HotRows> hot = hot_rows(plan);
  const std::int32_t parts = parts_of(plan, problem.space);
  if (hot.empty() && parts == 0) return std::nullopt;
  Problem own = with_hot_rows(problem, hot);
  own.space = with_sequence_parts(std::move(own.space), parts);
  ShapeCatalog catalog(own.space, evaluator, rows, options.cancel);
  return WalkSpace{std::move(own), std::move(catalog)};
}

}  // namespace neuroshard::search
