#pragma once

#include <optional>

#include "engine/core/status.h"
#include "search/feasibility.h"
#include "search/problem.h"
#include "search/row_shapes.h"

namespace neuroshard::search {

/// Why no plan can fit, whatever its pieces are. Nothing: no reason is known.
std::optional<Shortage> known_shortage(const Problem& problem, const RowShapes& rows);

/// Of a table that has no pieces, or of such a shortage, with what would do instead; tables in
/// equal blocks are asked about the first alone, as a search may give those up.
Status known_refusal(const Problem& problem, const RowShapes& rows, const SearchOptions& options);

}  // namespace neuroshard::search
