#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/local/shape_catalog.h"

namespace neuroshard::search {

/// Columns of a lookup's widest table up to which FBGEMM reads rows by 8 and by 16 lanes of a warp;
/// beyond them it takes all 32.
inline constexpr std::int32_t kColumnsOfEightLanes = 32;
inline constexpr std::int32_t kColumnsOfSixteenLanes = 64;

/// Adds `id`, halved by columns until no piece has more than `most_columns`. Pieces that have no
/// halves, and those of a table whose pieces are equally wide, are added as they are, and so is
/// everything once there are more than `most_pieces`.
void cut_columns(const ShapeCatalog& catalog, EntryId id, std::int32_t most_columns,
                 std::size_t most_pieces, std::vector<EntryId>& pieces);

}  // namespace neuroshard::search
