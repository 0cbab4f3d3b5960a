#include "search/local/shape_catalog.h"

#include <algorithm>

#include "search/equal_columns.h"
#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

constexpr std::size_t kTogether = 256;  // entries interned at once, at least

}  // namespace

ShapeCatalog::ShapeCatalog(const SearchSpace& space, PlanEvaluator& evaluator,
                           const RowShapes& rows, const CancelToken* cancel)
    : ShapeCatalog(space, evaluator, rows, Around{}, cancel) {}

ShapeCatalog ShapeCatalog::around(std::vector<ShardShape> shapes, bool whole_tables,
                                  const SearchSpace& space, PlanEvaluator& evaluator,
                                  const CancelToken* cancel) {
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const ShardShape& a, const ShardShape& b) { return a.table < b.table; });
  return {space, evaluator, RowShapes(), Around{std::move(shapes), whole_tables}, cancel};
}

ShapeCatalog::ShapeCatalog(const SearchSpace& space, PlanEvaluator& evaluator,
                           const RowShapes& rows, const Around& around, const CancelToken* cancel)
    : rows_(rows), whole_tables_(around.whole_tables) {
  std::span<const ShardShape> left = around.shapes;
  std::size_t interned = 0;
  for (std::size_t index = 0; index < space.tables.size(); ++index) {
    if (cancel != nullptr && cancel->cancelled()) {
      complete_ = false;
      return;
    }
    const TableSpace& own = space.tables[index];
    const auto table = static_cast<std::int32_t>(index);
    const ShardShape whole = space.whole(table);
    table_begin_.push_back(static_cast<EntryId>(entries_.size()));
    limit_ = own.devices.all() ? nullptr : &limits_.emplace_back(own.devices);
    const EntryId id = own.most_blocks > 0 ? add_equal_blocks(space, whole, own.most_blocks)
                                           : add_columns(space, whole);
    entries_[static_cast<std::size_t>(id)].only_parts = !own.sharding.whole;
    if (own.any_widths) add_widths(space, whole);
    if (rows.halves > 1 && may_halve_rows(own)) add_rows(space, whole, rows.halves);
    add_spread(space, table);
    const auto others = std::find_if(left.begin(), left.end(),
                                     [&](const ShardShape& shape) { return shape.table != table; });
    const auto of_table = static_cast<std::size_t>(others - left.begin());
    add_shards(space, left.first(of_table));
    left = left.subspan(of_table);
    if (entries_.size() - interned >= kTogether) intern(evaluator, interned);
  }
  intern(evaluator, interned);
  table_begin_.push_back(static_cast<EntryId>(entries_.size()));
}

/// The entries from number `begin` on, which is then the first that is not.
void ShapeCatalog::intern(PlanEvaluator& evaluator, std::size_t& begin) {
  std::vector<ShardShape> shapes;
  for (std::size_t k = begin; k < entries_.size(); ++k) {
    const CatalogEntry& entry = entries_[k];
    const bool replicated = entry.spread == Spread::kReplicas;
    shapes.push_back({entry.table, entry.rows, entry.dim, entry.row_blocks, replicated,
                      entry.kernel, entry.in_order, entry.device_group});
  }
  const std::vector<ShapeId> ids = evaluator.intern_all(shapes);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    entries_[begin].exchanged = evaluator.exchanged(shapes[k]);
    // Where costs add up, pieces cost no more when whoever runs them joins them.
    entries_[begin].one_width &= !evaluator.additive();
    entries_[begin++].shape = ids[k];
  }
}

EntryId ShapeCatalog::find(std::int32_t table, std::int64_t rows, std::int32_t dim,
                           Spread spread) const {
  if (any_widths(table) && spread == Spread::kNone && rows == entry(whole(table)).rows) {
    const bool wider = dim > entry(whole(table)).dim;
    return wider ? kNoEntry
                 : by_width_[widths_[static_cast<std::size_t>(table)].all +
                             static_cast<std::size_t>(dim)];
  }
  for (EntryId id = whole(table); id < end_of(table); ++id) {
    if (entry(id).dim == dim && entry(id).rows == rows && entry(id).spread == spread) return id;
  }
  return kNoEntry;
}

/// Behind the last entry of a table, of those so far while they are being made.
EntryId ShapeCatalog::end_of(std::int32_t table) const {
  const std::size_t next = static_cast<std::size_t>(table) + 1;
  return next < table_begin_.size() ? table_begin_[next] : static_cast<EntryId>(entries_.size());
}

/// Of a plan's shard.
Spread ShapeCatalog::spread_of(const ShardShape& shape) const {
  if (shape.replicated) return Spread::kReplicas;
  const CatalogEntry& all = entry(whole(shape.table));
  const bool moves = shape.rows == all.rows && (shape.dim == all.dim || !whole_tables_);
  return moves ? Spread::kNone : Spread::kFixed;
}

EntryId ShapeCatalog::of(const ShardShape& shape) const {
  const Spread spread = spread_of(shape);
  if (spread != Spread::kFixed) return find(shape.table, shape.rows, shape.dim, spread);
  for (EntryId id = whole(shape.table); id < end_of(shape.table); ++id) {
    const CatalogEntry& own = entry(id);
    const bool fixed = own.spread == spread && own.row_blocks == shape.row_blocks &&
                       own.in_order == shape.in_order && own.device_group == shape.device_group;
    if (fixed && own.dim == shape.dim && own.rows == shape.rows) return id;
  }
  return kNoEntry;
}

bool ShapeCatalog::goes_on_host(EntryId id, std::int32_t host) const {
  const CatalogEntry& block = entry(id);
  if (host < first_host(block.rows)) return false;
  return block.only_on == nullptr || has_host(*block.only_on, host, rows_.host);
}

EntryId ShapeCatalog::joined(EntryId one, EntryId other) const {
  const CatalogEntry& a = entry(one);
  const CatalogEntry& b = entry(other);
  if (!a.moves() || !b.moves()) return kNoEntry;
  const CatalogEntry& all = entry(whole(a.table));
  const bool columns = a.rows == all.rows && b.rows == all.rows;
  if (columns && all.equal_columns && a.dim + b.dim != all.dim) return kNoEntry;
  const EntryId both =
      columns ? find(a.table, all.rows, a.dim + b.dim) : find(a.table, a.rows + b.rows, all.dim);
  return both != kNoEntry && entry(both).only_parts ? kNoEntry : both;
}

EntryId ShapeCatalog::joined_on_host(EntryId one, EntryId other) const {
  const CatalogEntry& a = entry(one);
  const CatalogEntry& b = entry(other);
  if (a.spread != Spread::kHost || b.spread != Spread::kHost) return kNoEntry;
  return find(a.table, a.rows, a.dim + b.dim, Spread::kHost);
}

EntryId ShapeCatalog::add(const SearchSpace& space, const ShardShape& shape, Spread spread) {
  const auto id = static_cast<EntryId>(entries_.size());
  CatalogEntry& entry = entries_.emplace_back();
  entry.table = shape.table;
  entry.rows = shape.rows;
  entry.dim = shape.dim;
  entry.bytes = space.bytes(shape);
  entry.row_blocks = shape.row_blocks;
  const bool blocks = spread == Spread::kAll || spread == Spread::kHost;
  entry.in_order = shape.in_order || blocks;
  entry.device_group = blocks ? shape.row_blocks : shape.device_group;
  entry.kernel = shape.kernel;
  entry.spread = spread;
  entry.only_on = limit_;
  const TableSpace& own = space.of(shape.table);
  entry.apart = own.most_blocks > 0;
  entry.equal_columns = entry.apart || !own.table->pooled;
  entry.one_width = own.one_width;
  return id;
}

EntryId ShapeCatalog::add_columns(const SearchSpace& space, const ShardShape& shape,
                                  Spread spread) {
  const EntryId known = find(shape.table, shape.rows, shape.dim, spread);
  if (known != kNoEntry) return known;
  const EntryId id = add(space, shape, spread);
  const std::int32_t columns = split_point(space.of(shape.table), shape.dim);
  if (columns == 0) return id;
  ShardShape part = shape;
  part.dim = columns;
  const EntryId first = add_columns(space, part, spread);
  part.dim = shape.dim - columns;
  const EntryId rest = add_columns(space, part, spread);
  CatalogEntry& own = entries_[static_cast<std::size_t>(id)];
  own.first = first;
  own.rest = rest;
  own.only_parts = own.equal_columns && shape.dim < space.of(shape.table).table->dim;
  return id;
}

/// All columns, and each block of those that may be in at most so many; one is split into two if
/// there are such.
EntryId ShapeCatalog::add_equal_blocks(const SearchSpace& space, const ShardShape& all,
                                       std::int32_t most, Spread spread) {
  const EntryId id = add(space, all, spread);
  for (const std::int32_t count : equal_parts(space.of(all.table), most)) {
    if (count == 1) continue;
    ShardShape block = all;
    block.dim = all.dim / count;
    const EntryId part = add(space, block, spread);
    for (EntryId wide = id; wide < part; ++wide) {
      CatalogEntry& wider = entries_[static_cast<std::size_t>(wide)];
      if (wider.dim == 2 * block.dim) wider.first = wider.rest = part;
    }
  }
  return id;
}

std::vector<EntryId> ShapeCatalog::equal_blocks(std::int32_t table, Spread spread) const {
  std::vector<EntryId> blocks;
  const EntryId all = spread == Spread::kHost ? host_block(table) : whole(table);
  if (all == kNoEntry) return blocks;
  for (EntryId id = all; id < end_of(table); ++id) {
    const CatalogEntry& own = entry(id);
    if (own.spread == spread && own.rows == entry(all).rows && !own.only_parts)
      blocks.push_back(id);
  }
  return blocks;
}

/// The pieces of any widths: multiples of 4 columns, and what they leave of the table.
void ShapeCatalog::add_widths(const SearchSpace& space, const ShardShape& whole) {
  const std::int32_t least = search::least_columns(space.of(whole.table));
  ShardShape part = whole;
  for (std::int32_t dim = least; dim <= whole.dim - least; dim += kLeastColumns) {
    part.dim = dim;
    add_columns(space, part);
    part.dim = whole.dim - dim;
    add_columns(space, part);
  }
  widths_.resize(space.tables.size());
  const std::size_t all = by_width_.size();
  by_width_.resize(all + static_cast<std::size_t>(whole.dim) + 1, kNoEntry);
  for (auto id = static_cast<std::size_t>(this->whole(whole.table)); id < entries_.size(); ++id) {
    by_width_[all + static_cast<std::size_t>(entries_[id].dim)] = static_cast<EntryId>(id);
  }
  widths_[static_cast<std::size_t>(whole.table)] = {all, least};
}

/// The pieces that halving the rows of `shape`, of all columns, leads to, while they are one of
/// `parts` at least. A table of a power of two of rows has one size a halving, others two.
EntryId ShapeCatalog::add_rows(const SearchSpace& space, const ShardShape& shape,
                               std::int32_t parts) {
  EntryId id = find(shape.table, shape.rows, shape.dim);
  if (id == kNoEntry) id = add(space, shape);
  if (parts < 2 || shape.rows < 2 || entry(id).upper != kNoEntry) return id;
  const std::int64_t half = upper_half(shape.rows);
  ShardShape part = shape;
  part.rows = half;
  const EntryId upper = add_rows(space, part, parts / 2);
  part.rows = shape.rows - half;
  const EntryId lower = add_rows(space, part, parts / 2);
  entries_[static_cast<std::size_t>(id)].upper = upper;
  entries_[static_cast<std::size_t>(id)].lower = lower;
  return id;
}

/// Of one table's shards in plans.
void ShapeCatalog::add_shards(const SearchSpace& space, std::span<const ShardShape> shapes) {
  for (const ShardShape& shape : shapes) {
    if (of(shape) != kNoEntry) continue;
    const Spread spread = spread_of(shape);
    if (spread == Spread::kNone) {
      add_columns(space, shape);
    } else {
      add(space, shape, spread);
    }
  }
}

void ShapeCatalog::add_spread(const SearchSpace& space, std::int32_t table) {
  const TableSpace& own = space.of(table);
  const std::int32_t dim = own.table->dim;
  if (rows_.blocks > 1) {
    const std::int64_t rows = even_block(own, rows_.blocks);
    const ShardShape block = space.shape(table, rows, dim, rows_.blocks);
    blocks_.push_back(rows == 0 ? kNoEntry : add(space, block, Spread::kAll));
  }
  if (rows_.host > 1) {
    const std::int64_t rows = even_block_of_host(own, rows_.host);
    const ShardShape block = space.shape(table, rows, dim, rows_.host);
    const std::int32_t most = own.most_blocks / rows_.host;
    host_blocks_.push_back(rows == 0 ? kNoEntry
                           : own.most_blocks == 0
                               ? add_columns(space, block, Spread::kHost)
                               : add_equal_blocks(space, block, std::max(1, most), Spread::kHost));
  }
  if (rows_.replicas > 1) {
    const ShardShape each{table, own.table->rows, dim};
    replicas_.push_back(may_be_replicated(own) ? add(space, each, Spread::kReplicas) : kNoEntry);
  }
}

}  // namespace neuroshard::search
