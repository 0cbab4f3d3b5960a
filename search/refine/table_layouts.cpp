#include "search/refine/table_layouts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace neuroshard::search {
namespace {

/// All pieces in halves but those that cannot be halved.
Pieces in_halves(const Pieces& pieces, Division division, const ShapeCatalog& catalog) {
  const bool rows = division == Division::kRows;
  Pieces halves;
  for (const EntryId id : pieces) {
    const CatalogEntry& entry = catalog.entry(id);
    const EntryId first = rows ? entry.upper : entry.first;
    halves.push_back(first == kNoEntry ? id : first);
    if (first != kNoEntry) halves.push_back(rows ? entry.lower : entry.rest);
  }
  return halves;
}

class LayoutList {
 public:
  LayoutList(std::int32_t table, const Problem& problem, const ShapeCatalog& catalog)
      : table_(table), problem_(problem), catalog_(catalog) {}

  std::vector<TableLayout> all() && {
    const CatalogEntry& whole = catalog_.entry(catalog_.whole(table_));
    for (const Division division : kLayoutDivisions) {
      const EntryId undivided_entry = undivided(catalog_, table_, division);
      if (undivided_entry == kNoEntry) continue;
      const bool halves = division != Division::kBlocks && division != Division::kReplicas;
      if (!halves) {
        add(division, {undivided_entry});
      } else if (whole.apart) {
        add_equal_blocks(division);
      } else if (division != Division::kRows || whole.upper != kNoEntry) {
        add_halvings(division, undivided_entry);
      }
    }
    return std::move(layouts_);
  }

 private:
  /// Whether a device has the memory for each of the pieces, and they may be pieces.
  bool add(Division division, const Pieces& pieces) {
    const bool fit = std::all_of(pieces.begin(), pieces.end(), [&](EntryId id) {
      const CatalogEntry& entry = catalog_.entry(id);
      return !entry.only_parts && entry.bytes <= problem_.cluster.memory_bytes;
    });
    if (fit) layouts_.push_back({division, pieces});
    return fit;
  }

  void add_equal_blocks(Division division) {
    if (division == Division::kRows) return;
    const Spread spread = division == Division::kHosts ? Spread::kHost : Spread::kNone;
    for (const EntryId block : catalog_.equal_blocks(table_, spread)) {
      add(division, Pieces(static_cast<std::size_t>(catalog_.blocks_of(block)), block));
    }
  }

  void add_halvings(Division division, EntryId all) {
    for (Pieces pieces{all};;) {
      const std::int64_t held = std::ssize(pieces) * catalog_.holders(all);
      if (add(division, pieces) && held >= problem_.cluster.devices) return;
      Pieces halves = in_halves(pieces, division, catalog_);
      if (halves.size() == pieces.size()) return;
      pieces = std::move(halves);
    }
  }

  const std::int32_t table_;
  const Problem& problem_;
  const ShapeCatalog& catalog_;
  std::vector<TableLayout> layouts_;
};

}  // namespace

std::vector<TableLayout> layouts_of(std::int32_t table, const Problem& problem,
                                    const ShapeCatalog& catalog) {
  return LayoutList(table, problem, catalog).all();
}

TableLayouts::TableLayouts(const Problem& problem, const ShapeCatalog& catalog,
                           const Assignment& start)
    : layouts_(static_cast<std::size_t>(catalog.tables()), {TableLayout()}) {
  for (const Placed& piece : start) {
    if (piece.device % catalog.holders(piece.entry) != 0) continue;  // it counts once
    const auto table = static_cast<std::size_t>(catalog.entry(piece.entry).table);
    layouts_[table].front().pieces.push_back(piece.entry);
  }
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    const std::vector<TableLayout> more = layouts_of(table, problem, catalog);
    std::vector<TableLayout>& own = layouts_[static_cast<std::size_t>(table)];
    own.insert(own.end(), more.begin(), more.end());
  }
}

std::int64_t TableLayouts::count() const {
  std::int64_t all = 0;
  for (const std::vector<TableLayout>& own : layouts_) all += std::ssize(own);
  return all;
}

Pieces TableLayouts::pieces_of(const Choice& choice) const {
  Pieces pieces;
  for (std::size_t table = 0; table < choice.size(); ++table) {
    const Pieces& own = layouts_[table][choice[table]].pieces;
    pieces.insert(pieces.end(), own.begin(), own.end());
  }
  return pieces;
}

std::vector<TableLayouts::Choice> TableLayouts::alike(Division division) const {
  std::vector<Choice> choices;
  for (std::size_t level = 0, levels = 1; level < levels; ++level) {
    Choice choice;
    for (const std::vector<TableLayout>& own : layouts_) {
      const auto is_of = [&](const TableLayout& layout) { return layout.division == division; };
      const auto first = std::find_if(own.begin() + 1, own.end(), is_of);
      const auto of = static_cast<std::size_t>(std::count_if(first, own.end(), is_of));
      const auto begin = static_cast<std::size_t>(first - own.begin());
      choice.push_back(of > 0 ? begin + std::min(level, of - 1) : own.size() - 1);
      levels = std::max(levels, of);
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

TableLayouts::Choice TableLayouts::other_than(Choice choice, Rng& rng) const {
  for (std::uint64_t left = 2 + rng.below(2); left > 0; --left) {
    const std::size_t table = rng.below(layouts_.size());
    choice[table] = rng.below(layouts_[table].size());
  }
  return choice;
}

}  // namespace neuroshard::search
