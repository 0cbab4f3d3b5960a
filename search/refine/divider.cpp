#include "search/refine/divider.h"

namespace neuroshard::search {

EntryId undivided(const ShapeCatalog& catalog, std::int32_t table, Division division) {
  return division == Division::kBlocks     ? catalog.block(table)
         : division == Division::kHosts    ? catalog.host_block(table)
         : division == Division::kReplicas ? catalog.replica(table)
                                           : catalog.whole(table);
}

double Divider::weight(EntryId id) const {
  const CatalogEntry& entry = catalog_.entry(id);
  return evaluator_.shape_cost(entry.shape) + ms_per_dim_ * entry.dim;
}

std::pair<EntryId, EntryId> Divider::parts_of(EntryId id) const {
  const CatalogEntry& entry = catalog_.entry(id);
  const bool rows = division(entry.table) == Division::kRows;
  return rows ? std::pair(entry.upper, entry.lower) : std::pair(entry.first, entry.rest);
}

void Divider::divide(EntryId id, const PieceLimits& limits, Pieces& pieces) const {
  const auto [first, rest] = parts_of(id);
  const CatalogEntry& entry = catalog_.entry(id);
  const bool whole =
      weight(id) <= limits.weight && entry.bytes <= limits.bytes && entry.dim <= limits.dim;
  if (whole || first == kNoEntry) {
    pieces.push_back(id);
    return;
  }
  divide(first, limits, pieces);
  divide(rest, limits, pieces);
}

Pieces Divider::divided(const PieceLimits& limits) const {
  Pieces pieces;
  for (std::int32_t table = 0; table < catalog_.tables(); ++table) {
    divide(undivided(catalog_, table, division(table)), limits, pieces);
  }
  return pieces;
}

}  // namespace neuroshard::search
