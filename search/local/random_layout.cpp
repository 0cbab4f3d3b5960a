#include "search/local/random_layout.h"

#include <algorithm>

#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

constexpr std::uint64_t kMostHalvings = 3;

void divide(const ShapeCatalog& catalog, EntryId id, int halvings, bool rows,
            std::vector<EntryId>& pieces) {
  const CatalogEntry& entry = catalog.entry(id);
  const EntryId first = rows ? entry.upper : entry.first;
  const EntryId rest = rows ? entry.lower : entry.rest;
  if (halvings == 0 || first == kNoEntry) {
    pieces.push_back(id);
    return;
  }
  divide(catalog, first, halvings - 1, rows, pieces);
  divide(catalog, rest, halvings - 1, rows, pieces);
}

}  // namespace

std::vector<EntryId> random_division(const ShapeCatalog& catalog, std::int32_t table, Rng& rng) {
  const EntryId on_hosts = catalog.host_block(table);
  const bool moves = catalog.movable(table);
  if (!moves && on_hosts == kNoEntry) return {};
  const bool draw_hosts = on_hosts != kNoEntry && (rng.below(2) == 0 || !moves);
  const EntryId whole = draw_hosts ? on_hosts : catalog.whole(table);
  const CatalogEntry& entry = catalog.entry(whole);
  auto halvings = static_cast<int>(rng.below(kMostHalvings + 1));
  bool rows = entry.upper != kNoEntry && rng.below(2) == 0;
  if (entry.only_parts) {
    halvings = std::max(halvings, 1);
    rows = rows || entry.first == kNoEntry;
  }
  std::vector<EntryId> pieces;
  divide(catalog, whole, halvings, rows, pieces);
  return pieces;
}

std::int32_t random_place(const ShapeCatalog& catalog, EntryId piece, std::int32_t devices,
                          Rng& rng) {
  const CatalogEntry& entry = catalog.entry(piece);
  const std::int32_t holders = catalog.holders(piece);
  if (entry.only_on == nullptr) {
    const std::int32_t first = entry.spread == Spread::kHost ? first_host(entry.rows) : 0;
    return static_cast<std::int32_t>(rng.between(first, devices / holders - 1)) * holders;
  }
  std::vector<std::int32_t> places = entry.only_on->devices();
  std::erase_if(places, [&](std::int32_t device) {
    return device >= devices || device % holders != 0 ||
           (entry.spread == Spread::kHost && !catalog.goes_on_host(piece, device / holders));
  });
  return places[rng.below(places.size())];
}

}  // namespace neuroshard::search
