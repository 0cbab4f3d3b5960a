#include "search/local/column_cuts.h"

namespace neuroshard::search {

void cut_columns(const ShapeCatalog& catalog, EntryId id, std::int32_t most_columns,
                 std::size_t most_pieces, std::vector<EntryId>& pieces) {
  const CatalogEntry& entry = catalog.entry(id);
  const bool narrow = entry.dim <= most_columns && !entry.only_parts;
  if (narrow || entry.first == kNoEntry || entry.equal_columns || pieces.size() > most_pieces) {
    pieces.push_back(id);
    return;
  }
  cut_columns(catalog, entry.first, most_columns, most_pieces, pieces);
  cut_columns(catalog, entry.rest, most_columns, most_pieces, pieces);
}

}  // namespace neuroshard::search
