#include "search/local/redraw.h"

namespace neuroshard::search {
namespace {

constexpr std::uint64_t kMostHalvings = 3;
constexpr int kDraws = 20;

void divide(const ShapeCatalog& catalog, EntryId id, int halvings, std::vector<EntryId>& pieces) {
  const CatalogEntry& entry = catalog.entry(id);
  if (halvings == 0 || entry.first == kNoEntry) {
    pieces.push_back(id);
    return;
  }
  divide(catalog, entry.first, halvings - 1, pieces);
  divide(catalog, entry.rest, halvings - 1, pieces);
}

}  // namespace

std::vector<EntryId> random_division(const ShapeCatalog& catalog, std::int32_t table, Rng& rng) {
  const auto halvings = static_cast<int>(rng.below(kMostHalvings + 1));
  std::vector<EntryId> pieces;
  divide(catalog, catalog.whole(table), halvings, pieces);
  return pieces;
}

Assignment redraw_table(const Assignment& assignment, const Problem& problem,
                        const ShapeCatalog& catalog, Rng& rng) {
  const auto devices = static_cast<std::size_t>(problem.cluster.devices);
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto table =
        static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(catalog.tables())));
    Assignment redrawn;
    std::vector<std::int64_t> bytes(devices);
    bool fits = true;
    const auto add = [&](const Placed& piece) {
      std::int64_t& used = bytes[static_cast<std::size_t>(piece.device)];
      used += catalog.entry(piece.entry).bytes;
      fits = fits && used <= problem.cluster.memory_bytes;
      redrawn.push_back(piece);
    };
    for (const Placed& piece : assignment) {
      if (piece.device != kNoDevice && catalog.entry(piece.entry).table != table) add(piece);
    }
    for (const EntryId piece : random_division(catalog, table, rng)) {
      add({piece, static_cast<std::int32_t>(rng.below(devices))});
    }
    if (fits) return redrawn;
  }
  return assignment;
}

}  // namespace neuroshard::search
