#include "search/refine/any_widths.h"

#include "search/piece_sizes.h"
#include "search/refine/divider.h"

namespace neuroshard::search {

SearchSpace with_any_widths(SearchSpace space, const PlanEvaluator& evaluator,
                            const ShapeCatalog& catalog, std::size_t most_pieces) {
  std::size_t pieces = 0;
  for (const std::int32_t table : costliest_tables(evaluator, catalog)) {
    TableSpace& own = space.tables[static_cast<std::size_t>(table)];
    if (!may_have_any_widths(own)) continue;
    pieces += static_cast<std::size_t>(own.table->dim / kLeastColumns);
    if (pieces > most_pieces) break;
    own.any_widths = true;
  }
  return space;
}

}  // namespace neuroshard::search
