#include "search/local/random_layout.h"

#include <algorithm>
#include <utility>

#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

constexpr std::uint64_t kMostHalvings = 3;
constexpr std::int64_t kMostParts = 8;
constexpr int kDraws = 20;               // of a table whose relayout fits
constexpr double kFromEverywhere = 0.5;  // of the draws: tables with a part on every device
constexpr int kPlaceDraws = 32;          // of a place with room

void divide(const ShapeCatalog& catalog, EntryId id, int halvings, bool rows,
            std::vector<EntryId>& pieces) {
  const CatalogEntry& entry = catalog.entry(id);
  const EntryId first = rows ? entry.upper : entry.first;
  const EntryId rest = rows ? entry.lower : entry.rest;
  if ((halvings <= 0 && !entry.only_parts) || first == kNoEntry) {
    pieces.push_back(id);
    return;
  }
  divide(catalog, first, halvings - 1, rows, pieces);
  divide(catalog, rest, halvings - 1, rows, pieces);
}

/// A table's columns in so many pieces, as even as multiples of 4 columns allow; false where those
/// would be too narrow.
bool divide_evenly(const ShapeCatalog& catalog, std::int32_t table, std::int32_t parts,
                   std::vector<EntryId>& pieces) {
  const CatalogEntry& whole = catalog.entry(catalog.whole(table));
  const std::int32_t grains = whole.dim / kLeastColumns;
  if (grains / parts * kLeastColumns < catalog.least_columns(table)) return false;
  for (std::int32_t part = 0; part < parts; ++part) {
    const std::int32_t begin = grains * part / parts;
    const std::int32_t end = grains * (part + 1) / parts;
    const std::int32_t ragged = part + 1 == parts ? whole.dim % kLeastColumns : 0;
    pieces.push_back(catalog.find(table, whole.rows, (end - begin) * kLeastColumns + ragged));
  }
  return true;
}

/// Pieces that are added to a plan one after the other, as long as devices have the memory.
class Filling {
 public:
  explicit Filling(const Problem& problem)
      : memory_bytes_(problem.cluster.memory_bytes),
        bytes_(static_cast<std::size_t>(problem.cluster.devices)) {}

  void add(const Placed& piece, const ShapeCatalog& catalog) {
    std::int64_t& used = bytes_[static_cast<std::size_t>(piece.device)];
    used += catalog.entry(piece.entry).bytes;
    fits_ = fits_ && used <= memory_bytes_;
    pieces_.push_back(piece);
  }
  /// Those of one table where there is room for them, if some draws find any.
  void add(std::span<const EntryId> pieces, const ShapeCatalog& catalog, Rng& rng) {
    std::vector<std::int32_t> taken;
    for (const EntryId piece : pieces) {
      const std::int32_t drawn = random_place_with_room(catalog, piece, bytes_, memory_bytes_, rng);
      const std::int32_t place =
          place_apart(catalog, piece, drawn, static_cast<std::int32_t>(bytes_.size()), taken);
      fits_ = fits_ && place != kNoDevice;
      if (place == kNoDevice) return;
      for (std::size_t k = 0; catalog.entry(piece).one_width && k < taken.size(); ++k) {
        const bool meets = taken[k] == place;
        fits_ = fits_ && !(meets && catalog.entry(pieces[k]).dim != catalog.entry(piece).dim);
      }
      taken.push_back(place);
      add(piece, place, catalog);
    }
  }
  /// On all devices that hold it at once, from `first` on.
  void add(EntryId piece, std::int32_t first, const ShapeCatalog& catalog) {
    for (std::int32_t device = first; device < first + catalog.holders(piece); ++device) {
      add({piece, device}, catalog);
    }
  }
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] Assignment take() && { return std::move(pieces_); }

 private:
  const std::int64_t memory_bytes_;
  std::vector<std::int64_t> bytes_;
  Assignment pieces_;
  bool fits_ = true;
};

/// The tables with a part on every device, which no move of a walk changes.
std::vector<std::int32_t> tables_everywhere(const Assignment& assignment,
                                            const ShapeCatalog& catalog) {
  std::vector<std::int32_t> tables;
  for (const Placed& piece : assignment) {
    if (piece.device != 0) continue;
    const std::int32_t table = catalog.entry(piece.entry).table;
    if (piece.entry == catalog.block(table) || piece.entry == catalog.replica(table)) {
      tables.push_back(table);
    }
  }
  return tables;
}

bool is_spread(const Assignment& assignment, std::int32_t table, const ShapeCatalog& catalog) {
  return std::any_of(assignment.begin(), assignment.end(), [&](const Placed& piece) {
    return piece.device != kNoDevice && piece.entry == catalog.block(table);
  });
}

}  // namespace

std::vector<EntryId> random_division(const ShapeCatalog& catalog, std::int32_t table, Rng& rng) {
  const EntryId on_hosts = catalog.host_block(table);
  const bool moves = catalog.movable(table);
  if (!moves && on_hosts == kNoEntry) return {};
  const bool draw_hosts = on_hosts != kNoEntry && (rng.below(2) == 0 || !moves);
  const EntryId whole = draw_hosts ? on_hosts : catalog.whole(table);
  const CatalogEntry& entry = catalog.entry(whole);
  if (entry.apart) {
    const std::vector<EntryId> blocks = catalog.equal_blocks(table, entry.spread);
    const EntryId block = blocks[rng.below(blocks.size())];
    return std::vector<EntryId>(static_cast<std::size_t>(catalog.blocks_of(block)), block);
  }
  auto halvings = static_cast<int>(rng.below(kMostHalvings + 1));
  bool rows = entry.upper != kNoEntry && rng.below(2) == 0;
  if (entry.only_parts) {
    halvings = std::max(halvings, 1);
    rows = rows || entry.first == kNoEntry;
  }
  std::vector<EntryId> pieces;
  if (halvings > 0 && !rows && !draw_hosts && catalog.any_widths(table) && rng.below(2) == 0) {
    const auto parts = static_cast<std::int32_t>(rng.between(2, kMostParts));
    if (divide_evenly(catalog, table, parts, pieces)) return pieces;
  }
  divide(catalog, whole, halvings, rows, pieces);
  return pieces;
}

std::vector<EntryId> random_cut(const ShapeCatalog& catalog, std::int32_t table, Rng& rng) {
  if (!catalog.any_widths(table)) return {};
  const CatalogEntry& whole = catalog.entry(catalog.whole(table));
  const std::int32_t least = (catalog.least_columns(table) + kLeastColumns - 1) / kLeastColumns;
  const std::int32_t most = whole.dim / kLeastColumns - least;
  if (most < least) return {};
  const auto columns = static_cast<std::int32_t>(rng.between(least, most)) * kLeastColumns;
  return {catalog.find(table, whole.rows, columns),
          catalog.find(table, whole.rows, whole.dim - columns)};
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

std::int32_t place_apart(const ShapeCatalog& catalog, EntryId piece, std::int32_t place,
                         std::int32_t devices, std::span<const std::int32_t> taken) {
  const CatalogEntry& entry = catalog.entry(piece);
  if (!entry.apart) return place;
  const std::int32_t holders = catalog.holders(piece);
  const auto free = [&](std::int32_t first) {
    const bool may = entry.spread == Spread::kHost ? catalog.goes_on_host(piece, first / holders)
                                                   : entry.goes_on(first);
    return may && std::find(taken.begin(), taken.end(), first) == taken.end();
  };
  for (std::int32_t tried = 0; tried < devices; tried += holders) {
    const std::int32_t first = (place + tried) % devices;
    if (free(first)) return first;
  }
  return kNoDevice;
}

std::int32_t random_place_with_room(const ShapeCatalog& catalog, EntryId piece,
                                    std::span<const std::int64_t> bytes, std::int64_t memory_bytes,
                                    Rng& rng) {
  const auto holders = static_cast<std::size_t>(catalog.holders(piece));
  const std::int64_t most = memory_bytes - catalog.entry(piece).bytes;
  const auto has_room = [&](std::int32_t first) {
    const auto used = bytes.subspan(static_cast<std::size_t>(first), holders);
    return std::all_of(used.begin(), used.end(),
                       [most](std::int64_t each) { return each <= most; });
  };
  const auto devices = static_cast<std::int32_t>(bytes.size());
  std::int32_t place = random_place(catalog, piece, devices, rng);
  for (int draw = 1; draw < kPlaceDraws && !has_room(place); ++draw) {
    place = random_place(catalog, piece, devices, rng);
  }
  return place;
}

Assignment with_random_relayout(const Assignment& assignment, const Problem& problem,
                                const ShapeCatalog& catalog, Rng& rng) {
  const std::vector<std::int32_t> everywhere = tables_everywhere(assignment, catalog);
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::int32_t table =
        !everywhere.empty() && rng.uniform() < kFromEverywhere
            ? everywhere[rng.below(everywhere.size())]
            : static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(catalog.tables())));
    Filling relaid(problem);
    for (const Placed& piece : assignment) {
      if (piece.device == kNoDevice || catalog.entry(piece.entry).table == table) continue;
      relaid.add(piece, catalog);
    }
    if (catalog.block(table) != kNoEntry && !is_spread(assignment, table, catalog) &&
        rng.below(2) == 0) {
      relaid.add(catalog.block(table), 0, catalog);
    } else if (catalog.replica(table) != kNoEntry && rng.below(2) == 0) {
      relaid.add(catalog.replica(table), 0, catalog);
    } else {
      const std::vector<EntryId> pieces = random_division(catalog, table, rng);
      if (pieces.empty()) continue;
      relaid.add(pieces, catalog, rng);
    }
    if (relaid.fits()) return std::move(relaid).take();
  }
  return assignment;
}

}  // namespace neuroshard::search
