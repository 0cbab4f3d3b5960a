#include "search/refine/known_shortage.h"

#include "search/equal_columns.h"
#include "search/packing/what_would_do.h"
#include "search/refine/sequence_parts.h"

namespace neuroshard::search {

std::optional<Shortage> known_shortage(const Problem& problem, const RowShapes& rows) {
  // Tables that are not pooled may be cut more finely than into halves.
  const Problem finest = with_finest_sequences(problem);
  for (const auto find_shortage : {shortage_in_all, shortage_for_a_piece, shortage_on_devices}) {
    std::optional<Shortage> shortage = find_shortage(finest, rows);
    if (shortage) return shortage;
  }
  return std::nullopt;
}

Status known_refusal(const Problem& problem, const RowShapes& rows, const SearchOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_pieces(problem, rows));
  if (has_equal_blocks(problem.space)) return {};
  const std::optional<Shortage> shortage = known_shortage(problem, rows);
  return shortage ? what_would_do(problem, options, *shortage) : Status();
}

}  // namespace neuroshard::search
