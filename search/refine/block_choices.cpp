#include "search/refine/block_choices.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/core/shards_by_table.h"

namespace neuroshard::search {
namespace {

constexpr std::uint64_t kMostChanges = 3;  // tables
constexpr std::uint64_t kAnyOther = 4;     // one change in so many is no step

}  // namespace

BlockChoices::BlockChoices(const Problem& problem, const PlanEvaluator& evaluator,
                           const ShapeCatalog& catalog, std::uint64_t seed)
    : problem_(problem), catalog_(catalog), rng_(seed) {
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    const EntryId whole = catalog.whole(table);
    std::vector<EntryId>& own = blocks_.emplace_back();
    if (catalog.entry(whole).apart) {
      own = catalog.equal_blocks(table);
      const std::vector<EntryId> on_hosts = catalog.equal_blocks(table, Spread::kHost);
      own.insert(own.end(), on_hosts.begin(), on_hosts.end());
      for (const EntryId all : {catalog.block(table), catalog.replica(table)}) {
        if (all != kNoEntry) own.push_back(all);
      }
    } else {
      own = {whole};
    }
    const double ms = evaluator.shape_cost(catalog.entry(whole).shape);
    tables_.add(std::max(1e-9, ms));
  }
}

BlockChoices::Choice BlockChoices::within(std::int64_t bytes, std::int32_t columns) const {
  const auto fits = [&](EntryId block) {
    return catalog_.entry(block).bytes <= bytes && catalog_.entry(block).dim <= columns;
  };
  const auto fits_device = [&](EntryId block) {
    return catalog_.entry(block).bytes <= problem_.cluster.memory_bytes;
  };
  Choice choice;
  for (const std::vector<EntryId>& blocks : blocks_) {
    // Of columns alone, where those fit a device at all.
    const auto rows = std::find_if(blocks.begin(), blocks.end(),
                                   [&](EntryId block) { return !catalog_.entry(block).moves(); });
    const auto found = std::find_if(blocks.begin(), rows, fits);
    const auto any = std::find_if(blocks.begin(), blocks.end(), fits_device);
    const bool by_rows = rows != blocks.end() && any >= rows && any != blocks.end();
    choice.push_back(found != rows            ? *found
                     : by_rows                ? *any
                     : rows != blocks.begin() ? *(rows - 1)
                                              : blocks.back());
  }
  return choice;
}

BlockChoices::Choice BlockChoices::like(const Plan& plan, bool finer) const {
  Choice choice;
  for (const std::span<const Shard> shards : shards_by_table(plan)) {
    choice.push_back(block_like(shards, plan.devices, finer));
  }
  return choice;
}

EntryId BlockChoices::block_like(std::span<const Shard> shards, std::int32_t devices,
                                 bool finer) const {
  const std::int32_t table = shards[0].table;
  const CatalogEntry& whole = catalog_.entry(catalog_.whole(table));
  if (!whole.apart) return catalog_.whole(table);
  if (shards[0].device == kEveryDevice && catalog_.replica(table) != kNoEntry) {
    return catalog_.replica(table);
  }
  const bool all_rows = shards[0].rows() == whole.rows;
  const bool everywhere = std::ssize(shards) == devices && shards[0].dim() == whole.dim;
  if (!all_rows && everywhere && catalog_.block(table) != kNoEntry) return catalog_.block(table);
  const std::vector<EntryId> blocks =
      catalog_.equal_blocks(table, all_rows ? Spread::kNone : Spread::kHost);
  if (blocks.empty()) return blocks_[static_cast<std::size_t>(table)].back();
  std::map<std::int32_t, std::int32_t> widths;  // by device
  for (const Shard& shard : shards) widths[shard.device] += shard.dim();
  std::int32_t widest = 0;
  for (const auto& [device, width] : widths) widest = std::max(widest, width);
  auto found = std::find_if(blocks.begin(), blocks.end(),
                            [&](EntryId block) { return catalog_.entry(block).dim <= widest; });
  if (found == blocks.end()) --found;
  if (!finer && found != blocks.begin() && catalog_.entry(*found).dim < widest) --found;
  return *found;
}

BlockChoices::Choice BlockChoices::with_rows(Choice choice, std::int32_t tables) const {
  std::vector<std::pair<std::int64_t, std::int32_t>> largest;
  for (std::int32_t table = 0; table < catalog_.tables(); ++table) {
    const bool apart = catalog_.entry(catalog_.whole(table)).apart;
    if (!apart || catalog_.block(table) == kNoEntry) continue;
    largest.emplace_back(-catalog_.entry(catalog_.whole(table)).bytes, table);
  }
  std::sort(largest.begin(), largest.end());
  largest.resize(std::min(largest.size(), static_cast<std::size_t>(tables)));
  for (const auto& [bytes, table] : largest) {
    choice[static_cast<std::size_t>(table)] = catalog_.block(table);
  }
  return choice;
}

BlockChoices::Choice BlockChoices::neighbour(Choice choice) {
  for (std::uint64_t left = 1 + rng_.below(kMostChanges); left > 0; --left) {
    const std::size_t table = tables_.draw(rng_);
    const std::vector<EntryId>& blocks = blocks_[table];
    if (blocks.size() < 2) continue;
    if (rng_.below(kAnyOther) == 0) {
      choice[table] = blocks[rng_.below(blocks.size())];
      continue;
    }
    const auto now = std::find(blocks.begin(), blocks.end(), choice[table]);
    const bool up = now == blocks.begin() || (now + 1 != blocks.end() && rng_.below(2) == 0);
    choice[table] = up ? *(now + 1) : *(now - 1);
  }
  return choice;
}

void BlockChoices::add_halves(EntryId id, Pieces& pieces) const {
  const CatalogEntry& entry = catalog_.entry(id);
  const bool fits = !entry.only_parts && entry.bytes <= problem_.cluster.memory_bytes;
  if (fits || entry.first == kNoEntry) {
    pieces.push_back(id);
    return;
  }
  add_halves(entry.first, pieces);
  add_halves(entry.rest, pieces);
}

Pieces BlockChoices::pieces_of(const Choice& choice) const {
  Pieces pieces;
  for (const EntryId block : choice) {
    const CatalogEntry& entry = catalog_.entry(block);
    if (!entry.apart) {
      add_halves(block, pieces);
      continue;
    }
    const std::int32_t count = entry.everywhere() ? 1 : catalog_.blocks_of(block);
    pieces.insert(pieces.end(), static_cast<std::size_t>(count), block);
  }
  return pieces;
}

}  // namespace neuroshard::search
