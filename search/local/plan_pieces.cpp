#include "search/local/plan_pieces.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "engine/core/shards_by_table.h"
#include "search/piece_sizes.h"

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

/// Whether these columns of the shard's table are in even blocks of the rows over the devices of
/// its host, of which `whole` is the first.
bool in_host_blocks(const Shard& shard, std::span<const Shard> of_table, const CatalogEntry& whole,
                    std::int64_t rows, std::int32_t of_host) {
  std::int32_t blocks = 0;
  for (const Shard& one : of_table) {
    if (one.column_begin != shard.column_begin || one.column_end != shard.column_end) continue;
    const std::int64_t begin = whole.rows * (one.device % of_host);
    const bool fits = one.row_begin == begin && one.row_end == std::min(rows, begin + whole.rows);
    if (!fits || one.device / of_host != shard.device / of_host) return false;
    ++blocks;
  }
  return blocks == of_host;
}

/// The entry of a shard of some of its table's rows that is a block of one host's, or kNoEntry:
/// halves of rows may be as many and nearly as large.
EntryId host_entry(const Shard& shard, const ShardShape& shape, std::span<const Shard> of_table,
                   const ShapeCatalog& catalog) {
  const EntryId whole = catalog.host_block(shard.table);
  const bool blocks = shape.in_order && shape.row_blocks == catalog.host_devices();
  if (whole == kNoEntry || !blocks) return kNoEntry;
  const CatalogEntry& block = catalog.entry(whole);
  const std::int64_t rows = catalog.entry(catalog.whole(shard.table)).rows;
  if (!in_host_blocks(shard, of_table, block, rows, catalog.host_devices())) return kNoEntry;
  return catalog.find(shard.table, block.rows, shard.dim(), Spread::kHost);
}

/// Deals the cells of tables out to pieces, one after the other.
class Dealer {
 public:
  Dealer(const Workload& workload, const ShapeCatalog& catalog)
      : workload_(workload),
        catalog_(catalog),
        columns_(workload.tables.size()),
        rows_(workload.tables.size()) {}

  Shard deal(const Placed& piece) {
    const CatalogEntry& entry = catalog_.entry(piece.entry);
    const Shard whole = whole_table(workload_, entry.table, piece.device, entry.kernel);
    switch (entry.spread) {
      case Spread::kReplicas:
        return whole_table(workload_, entry.table, kEveryDevice);
      case Spread::kAll:
        return block_on(whole, entry.rows, piece.device);
      case Spread::kHost:
        return host_block(piece, whole);
      default:
        return entry.rows < whole.row_end ? next_rows(entry, whole)
                                          : with_columns(whole, next_columns(entry), entry.dim);
    }
  }

 private:
  static Shard with_columns(Shard shard, std::int32_t begin, std::int32_t dim) {
    shard.column_begin = begin;
    shard.column_end = begin + dim;
    return shard;
  }
  std::int32_t next_columns(const CatalogEntry& entry) {
    std::int32_t& next = columns_[static_cast<std::size_t>(entry.table)];
    return std::exchange(next, next + entry.dim);
  }
  Shard next_rows(const CatalogEntry& entry, Shard shard) {
    std::int64_t& next = rows_[static_cast<std::size_t>(entry.table)];
    shard.row_begin = next;
    shard.row_end = next += entry.rows;
    return shard;
  }
  /// Blocks of the same columns on one host get the same.
  Shard host_block(const Placed& piece, const Shard& whole) {
    const CatalogEntry& entry = catalog_.entry(piece.entry);
    const std::int32_t of_host = catalog_.host_devices();
    const int nth = blocks_[{piece.entry, piece.device}]++;  // of several alike on the device
    const auto [columns, is_new] =
        on_hosts_.try_emplace({piece.entry, piece.device / of_host, nth}, 0);
    if (is_new) columns->second = next_columns(entry);
    Shard shard = block_on(whole, entry.rows, piece.device % of_host);
    shard.device = piece.device;
    return with_columns(shard, columns->second, entry.dim);
  }

  const Workload& workload_;
  const ShapeCatalog& catalog_;
  std::vector<std::int32_t> columns_;  // the next of each table
  std::vector<std::int64_t> rows_;
  std::map<std::pair<EntryId, std::int32_t>, int> blocks_;
  std::map<std::tuple<EntryId, std::int32_t, int>, std::int32_t> on_hosts_;
};

/// Appends the pieces of one table's shards; false when one has no entry.
bool add_pieces(std::span<const Shard> shards, std::span<const ShardShape> shapes,
                std::int32_t devices, const Workload& workload, const ShapeCatalog& catalog,
                std::vector<Placed>& pieces) {
  const std::int32_t table = shards[0].table;
  const EntryId replica = catalog.replica(table);
  if (shapes[0].replicated && replica != kNoEntry) {
    for (std::int32_t device = 0; device < devices; ++device) pieces.push_back({replica, device});
    return true;
  }
  const bool spread =
      catalog.block(table) != kNoEntry &&
      in_even_blocks(shards, whole_table(workload, table, kNoDevice, shards[0].kernel), devices);
  for (std::size_t k = 0; k < shards.size(); ++k) {
    const Shard& shard = shards[k];
    EntryId entry = spread ? catalog.block(table) : host_entry(shard, shapes[k], shards, catalog);
    if (entry == kNoEntry) entry = catalog.find(table, shard.rows(), shard.dim());
    if (shard.device < 0 || entry == kNoEntry) return false;
    pieces.push_back({entry, shard.device});
  }
  return true;
}

/// A piece that moves of some of a table's rows.
bool is_part_of_rows(const CatalogEntry& entry, const ShapeCatalog& catalog) {
  return entry.moves() && entry.rows < catalog.entry(catalog.whole(entry.table)).rows;
}

/// Such parts that lie like even blocks on device after device would be exchanged as these are, at
/// other costs than those that a search has put on them: then the last device has the first rows.
void keep_from_blocks(const std::set<std::int32_t>& in_parts, Plan& plan) {
  const std::vector<ShardShape> shapes = shapes_of(plan);
  std::size_t end = 0;
  for (const std::span<const Shard> shards : shards_by_table(plan)) {
    const std::size_t begin = std::exchange(end, end + shards.size());
    const bool blocks = shapes[begin].in_order && shapes[begin].row_blocks > 1;
    if (!blocks || !in_parts.contains(shards[0].table)) continue;
    std::int64_t next = 0;
    for (std::size_t k = end; k-- > begin;) {
      Shard& shard = plan.shards[k];
      const std::int64_t rows = shard.rows();
      shard.row_begin = next;
      shard.row_end = next += rows;
    }
  }
  canonicalize(plan);
}

}  // namespace

std::vector<Placed> pieces_of(const Plan& plan, const Workload& workload,
                              const ShapeCatalog& catalog) {
  std::vector<Placed> pieces;
  const std::vector<ShardShape> shapes = shapes_of(plan);
  std::size_t begin = 0;
  for (const std::span<const Shard> shards : shards_by_table(plan)) {
    if (!add_pieces(shards, std::span(shapes).subspan(begin, shards.size()), plan.devices, workload,
                    catalog, pieces)) {
      return {};
    }
    begin += shards.size();
  }
  return pieces;
}

Plan plan_of(const Assignment& assignment, const Workload& workload, const ShapeCatalog& catalog,
             std::int32_t devices) {
  Plan plan{devices, {}};
  Dealer dealer(workload, catalog);
  std::set<std::int32_t> in_parts;
  for (const bool ragged : {false, true}) {
    for (const Placed& piece : assignment) {
      if (piece.device == kNoDevice) continue;  // such a piece may have no entry
      const CatalogEntry& entry = catalog.entry(piece.entry);
      if ((entry.dim % 4 != 0) != ragged) continue;
      if (entry.spread == Spread::kReplicas && piece.device != 0) continue;  // one says it of all
      plan.shards.push_back(dealer.deal(piece));
      if (is_part_of_rows(entry, catalog)) in_parts.insert(entry.table);
    }
  }
  canonicalize(plan);
  if (!in_parts.empty()) keep_from_blocks(in_parts, plan);
  return plan;
}

}  // namespace neuroshard::search
