#include "search/local/plan_pieces.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "search/feasibility.h"

namespace neuroshard::search {
namespace {

/// Whether shard after shard of one table is an even block of its rows, on device after device.
bool in_even_blocks(std::span<const Shard> shards, const Shard& whole, std::int32_t devices) {
  const std::int64_t block = even_block(whole.row_end, devices);
  if (block == 0 || shards.size() != static_cast<std::size_t>(devices) || devices < 2) return false;
  for (std::int32_t device = 0; device < devices; ++device) {
    if (shards[static_cast<std::size_t>(device)] != block_on(whole, block, device)) return false;
  }
  return true;
}

/// The entry of a shard of some of its table's rows that is a block of one host's, or kNoEntry.
EntryId host_entry(const Shard& shard, std::int32_t row_blocks, const ShapeCatalog& catalog) {
  const EntryId whole = catalog.host_block(shard.table);
  if (whole == kNoEntry || row_blocks != catalog.host_devices()) return kNoEntry;
  const std::int64_t block = catalog.entry(whole).rows;
  const std::int32_t rank = shard.device % catalog.host_devices();
  if (shard.row_begin != block * rank) return kNoEntry;
  return catalog.find(shard.table, block, shard.dim(), Spread::kHost);
}

/// Deals the columns of tables out to pieces, one after the other; blocks of the same columns on
/// one host get the same.
class ColumnDealer {
 public:
  ColumnDealer(const ShapeCatalog& catalog, std::size_t tables)
      : catalog_(catalog), next_(tables) {}

  /// The first column of the piece.
  std::int32_t deal(const Placed& piece) {
    const CatalogEntry& entry = catalog_.entry(piece.entry);
    std::int32_t& next = next_[static_cast<std::size_t>(entry.table)];
    if (entry.moves()) return std::exchange(next, next + entry.dim);
    const int nth = blocks_[{piece.entry, piece.device}]++;  // of several alike on the host
    const auto [columns, is_new] =
        on_hosts_.try_emplace({piece.entry, piece.device / catalog_.host_devices(), nth}, next);
    if (is_new) next += entry.dim;
    return columns->second;
  }

 private:
  const ShapeCatalog& catalog_;
  std::vector<std::int32_t> next_;
  std::map<std::pair<EntryId, std::int32_t>, int> blocks_;
  std::map<std::tuple<EntryId, std::int32_t, int>, std::int32_t> on_hosts_;
};

}  // namespace

std::vector<Placed> pieces_of(const Plan& plan, const Workload& workload,
                              const ShapeCatalog& catalog) {
  std::vector<Placed> pieces;
  const std::span<const Shard> all = plan.shards;
  const std::vector<ShardShape> shapes = shapes_of(plan);
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    const std::int32_t index = all[begin].table;
    while (end < all.size() && all[end].table == index) ++end;
    const std::span<const Shard> shards = all.subspan(begin, end - begin);
    const bool spread =
        catalog.block(index) != kNoEntry &&
        in_even_blocks(shards, whole_table(workload, index, kNoDevice), plan.devices);
    for (std::size_t k = begin; k < end; ++k) {
      const Shard& shard = all[k];
      if (shapes[k].replicated && catalog.replica(index) != kNoEntry) {
        for (std::int32_t device = 0; device < plan.devices; ++device) {
          pieces.push_back({catalog.replica(index), device});
        }
        continue;
      }
      EntryId entry =
          spread ? catalog.block(index) : host_entry(shard, shapes[k].row_blocks, catalog);
      if (entry == kNoEntry) entry = catalog.find(index, shard.rows(), shard.dim());
      if (shard.device < 0 || entry == kNoEntry) return {};
      pieces.push_back({entry, shard.device});
    }
  }
  return pieces;
}

Plan plan_of(const Assignment& assignment, const Workload& workload, const ShapeCatalog& catalog,
             std::int32_t devices) {
  Plan plan{devices, {}};
  ColumnDealer columns(catalog, workload.tables.size());
  std::vector<std::int64_t> rows(workload.tables.size(), 0);
  for (const bool ragged : {false, true}) {
    for (const Placed& piece : assignment) {
      if (piece.device == kNoDevice) continue;
      const CatalogEntry& entry = catalog.entry(piece.entry);
      if ((entry.dim % 4 != 0) != ragged) continue;
      const auto table = static_cast<std::size_t>(entry.table);
      Shard shard = whole_table(workload, entry.table, piece.device);
      if (entry.spread == Spread::kReplicas) {
        if (piece.device != 0) continue;  // one shard says it
        shard.device = kEveryDevice;
      } else if (entry.spread == Spread::kAll) {
        shard = block_on(shard, entry.rows, piece.device);
      } else if (entry.spread == Spread::kHost) {
        shard = block_on(shard, entry.rows, piece.device % catalog.host_devices());
        shard.device = piece.device;
        shard.column_begin = columns.deal(piece);
        shard.column_end = shard.column_begin + entry.dim;
      } else if (entry.rows < shard.row_end) {
        shard.row_begin = rows[table];
        shard.row_end = rows[table] += entry.rows;
      } else {
        shard.column_begin = columns.deal(piece);
        shard.column_end = shard.column_begin + entry.dim;
      }
      plan.shards.push_back(shard);
    }
  }
  canonicalize(plan);
  return plan;
}

}  // namespace neuroshard::search
