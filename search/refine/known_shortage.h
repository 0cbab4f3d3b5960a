#pragma once

#include <optional>

#include "search/feasibility.h"
#include "search/problem.h"
#include "search/row_shapes.h"

namespace neuroshard::search {

/// Why no plan can fit, whatever its pieces are. Nothing: no reason is known.
std::optional<Shortage> known_shortage(const Problem& problem, const RowShapes& rows);

}  // namespace neuroshard::search
