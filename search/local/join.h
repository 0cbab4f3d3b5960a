#pragma once

#include "search/local/local_walk.h"

namespace neuroshard::search {

/// Joins pieces of a table on one device wherever the plan gets no dearer by it. Networks may like
/// two halves better than the whole, or not mind; a device looks every index up twice for them, and
/// some trainers take one block of a table a device at most. REQUIRES a plan of `walk`'s problem.
Assignment join_pieces(Assignment assignment, const ShapeCatalog& catalog, LocalWalk& walk);

}  // namespace neuroshard::search
