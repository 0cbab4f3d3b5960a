#include "search/refine/divider.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace neuroshard::search {
namespace {

/// Of the whole of a table: whether it may be neither that nor in halves of its columns, but in
/// more equal blocks of them. 20 columns are five blocks of 4.
bool only_blocks(const ShapeCatalog& catalog, EntryId whole) {
  const CatalogEntry& entry = catalog.entry(whole);
  return entry.only_parts && entry.first == kNoEntry && !catalog.equal_blocks(entry.table).empty();
}

}  // namespace

EntryId undivided(const ShapeCatalog& catalog, std::int32_t table, Division division) {
  if (division == Division::kBlocks) return catalog.block(table);
  if (division == Division::kHosts) return catalog.host_block(table);
  if (division == Division::kReplicas) return catalog.replica(table);
  const CatalogEntry& whole = catalog.entry(catalog.whole(table));
  const bool by_rows = division == Division::kRows;
  const bool halves = (by_rows ? whole.upper : whole.first) != kNoEntry;
  const bool may_be =
      !whole.only_parts || halves || (!by_rows && only_blocks(catalog, catalog.whole(table)));
  return may_be ? catalog.whole(table) : kNoEntry;
}

Division usual_division(const ShapeCatalog& catalog, std::int32_t table) {
  for (const Division division : {Division::kColumns, Division::kBlocks, Division::kHosts,
                                  Division::kRows, Division::kReplicas}) {
    if (undivided(catalog, table, division) != kNoEntry) return division;
  }
  return Division::kColumns;
}

std::vector<Division> usual_divisions(const ShapeCatalog& catalog) {
  std::vector<Division> divisions;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    divisions.push_back(usual_division(catalog, table));
  }
  return divisions;
}

std::vector<std::int32_t> costliest_first(std::span<const double> costs) {
  std::vector<std::int32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return costs[static_cast<std::size_t>(a)] > costs[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<std::int32_t> costliest_tables(const PlanEvaluator& evaluator,
                                           const ShapeCatalog& catalog) {
  std::vector<double> costs;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    costs.push_back(evaluator.shape_cost(catalog.entry(catalog.whole(table)).shape));
  }
  return costliest_first(costs);
}

double Divider::weight(EntryId id) const {
  const CatalogEntry& entry = catalog_.entry(id);
  return evaluator_.shape_cost(entry.shape) +
         ms_per_dim_ * static_cast<double>(entry.exchanged.dims);
}

std::pair<EntryId, EntryId> Divider::parts_of(EntryId id) const {
  const CatalogEntry& entry = catalog_.entry(id);
  const bool rows = division(entry.table) == Division::kRows;
  return rows ? std::pair(entry.upper, entry.lower) : std::pair(entry.first, entry.rest);
}

void Divider::divide(EntryId id, const PieceLimits& limits, Pieces& pieces) const {
  const auto [first, rest] = parts_of(id);
  const CatalogEntry& entry = catalog_.entry(id);
  const bool whole = !entry.only_parts && weight(id) <= limits.weight &&
                     entry.bytes <= limits.bytes &&
                     static_cast<double>(entry.exchanged.dims) <= limits.dim;
  if (first == kNoEntry && only_blocks(catalog_, id)) {
    const EntryId widest = catalog_.equal_blocks(entry.table).front();
    pieces.insert(pieces.end(), static_cast<std::size_t>(catalog_.blocks_of(widest)), widest);
    return;
  }
  if (whole || first == kNoEntry) {
    pieces.push_back(id);
    return;
  }
  divide(first, limits, pieces);
  divide(rest, limits, pieces);
}

Pieces Divider::halved(EntryId id) const {
  Pieces pieces;
  const auto [first, rest] = parts_of(id);
  constexpr PieceLimits kAny{.bytes = std::numeric_limits<std::int64_t>::max()};
  divide(first, kAny, pieces);
  divide(rest, kAny, pieces);
  return pieces;
}

Pieces Divider::divided(const PieceLimits& limits) const {
  Pieces pieces;
  for (std::int32_t table = 0; table < catalog_.tables(); ++table) {
    divide(undivided(catalog_, table, division(table)), limits, pieces);
  }
  return pieces;
}

}  // namespace neuroshard::search
