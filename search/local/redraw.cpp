#include "search/local/redraw.h"

#include <algorithm>
#include <utility>

namespace neuroshard::search {
namespace {

constexpr std::uint64_t kMostHalvings = 3;
constexpr int kDraws = 20;

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
  void add_everywhere(EntryId entry, const ShapeCatalog& catalog) {
    for (std::size_t device = 0; device < bytes_.size(); ++device) {
      add({entry, static_cast<std::int32_t>(device)}, catalog);
    }
  }
  void add_on_host(EntryId block, std::int32_t host, const ShapeCatalog& catalog) {
    for (std::int32_t rank = 0; rank < catalog.host_devices(); ++rank) {
      add({block, host * catalog.host_devices() + rank}, catalog);
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

bool is_spread(const Assignment& assignment, std::int32_t table, const ShapeCatalog& catalog) {
  return std::any_of(assignment.begin(), assignment.end(), [&](const Placed& piece) {
    return piece.device != kNoDevice && piece.entry == catalog.block(table);
  });
}

}  // namespace

std::vector<EntryId> random_division(const ShapeCatalog& catalog, std::int32_t table, Rng& rng) {
  const auto halvings = static_cast<int>(rng.below(kMostHalvings + 1));
  const EntryId whole = catalog.whole(table);
  const bool rows = catalog.entry(whole).upper != kNoEntry && rng.below(2) == 0;
  std::vector<EntryId> pieces;
  divide(catalog, whole, halvings, rows, pieces);
  return pieces;
}

std::vector<EntryId> random_host_division(const ShapeCatalog& catalog, std::int32_t table,
                                          Rng& rng) {
  const auto halvings = static_cast<int>(rng.below(kMostHalvings + 1));
  std::vector<EntryId> pieces;
  divide(catalog, catalog.host_block(table), halvings, false, pieces);
  return pieces;
}

Assignment redraw_table(const Assignment& assignment, const Problem& problem,
                        const ShapeCatalog& catalog, Rng& rng) {
  const auto devices = static_cast<std::uint64_t>(problem.cluster.devices);
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto table =
        static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(catalog.tables())));
    Filling redrawn(problem);
    for (const Placed& piece : assignment) {
      if (piece.device == kNoDevice || catalog.entry(piece.entry).table == table) continue;
      redrawn.add(piece, catalog);
    }
    if (catalog.block(table) != kNoEntry && !is_spread(assignment, table, catalog) &&
        rng.below(2) == 0) {
      redrawn.add_everywhere(catalog.block(table), catalog);
    } else if (catalog.replica(table) != kNoEntry && rng.below(2) == 0) {
      redrawn.add_everywhere(catalog.replica(table), catalog);
    } else if (catalog.host_block(table) != kNoEntry && rng.below(2) == 0) {
      const std::int32_t hosts = problem.cluster.devices / catalog.host_devices();
      for (const EntryId block : random_host_division(catalog, table, rng)) {
        const std::int64_t host = rng.between(catalog.first_place(block), hosts - 1);
        redrawn.add_on_host(block, static_cast<std::int32_t>(host), catalog);
      }
    } else {
      for (const EntryId piece : random_division(catalog, table, rng)) {
        redrawn.add({piece, static_cast<std::int32_t>(rng.below(devices))}, catalog);
      }
    }
    if (redrawn.fits()) return std::move(redrawn).take();
  }
  return assignment;
}

std::vector<std::int32_t> dearest_tables(const PlanEvaluator& evaluator,
                                         const ShapeCatalog& catalog) {
  std::vector<std::pair<double, std::int32_t>> order;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    order.emplace_back(-evaluator.shape_cost(catalog.entry(catalog.whole(table)).shape), table);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int32_t> tables;
  for (const auto& [cost, table] : order) tables.push_back(table);
  return tables;
}

Assignment spread_tables(const Assignment& assignment, std::span<const std::int32_t> tables,
                         const Problem& problem, const ShapeCatalog& catalog) {
  const auto chosen = [&](std::int32_t table) {
    return std::find(tables.begin(), tables.end(), table) != tables.end();
  };
  Filling spread(problem);
  for (const Placed& piece : assignment) {
    if (piece.device == kNoDevice || chosen(catalog.entry(piece.entry).table)) continue;
    spread.add(piece, catalog);
  }
  for (const std::int32_t table : tables) {
    if (catalog.block(table) == kNoEntry) return assignment;
    spread.add_everywhere(catalog.block(table), catalog);
  }
  return spread.fits() ? std::move(spread).take() : assignment;
}

}  // namespace neuroshard::search
