#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "engine/core/device_set.h"
#include "engine/core/plan.h"
#include "engine/core/progress.h"
#include "search/plan_evaluator.h"
#include "search/row_shapes.h"
#include "search/search_space.h"

namespace neuroshard::search {

/// Number of a size of a table, in a ShapeCatalog.
using EntryId = std::int32_t;
inline constexpr EntryId kNoEntry = -1;

/// Which devices hold a piece: one, or several at once.
enum class Spread : unsigned char {
  kNone,
  kHost,      ///< those of one host, each an even block of the same columns' rows
  kAll,       ///< all, each an even block of the table's rows
  kReplicas,  ///< all, each the whole table
  kFixed,     ///< one, part of a table, of a plan in which it stays where it is
};

/// One size that pieces of a table may have: some of the columns, or some of the rows. Which ones
/// does not matter to cost or memory, so a plan in the making knows sizes only.
struct CatalogEntry {
  std::int32_t table = 0;
  std::int64_t rows = 0;
  std::int32_t dim = 0;
  std::int64_t bytes = 0;
  std::int32_t row_blocks = 0;  ///< as in ShardShape
  bool in_order = false;        ///< the same
  std::int32_t device_group = 0;
  TableKernel kernel{};
  ShapeId shape = 0;
  Exchanged exchanged{};
  EntryId first = kNoEntry;  ///< the two pieces it is split into; none: it stays whole
  EntryId rest = kNoEntry;
  EntryId upper = kNoEntry;  ///< the two pieces its rows are split into, or none
  EntryId lower = kNoEntry;
  Spread spread = Spread::kNone;
  /// No piece itself: of a table that may not be whole on one device, or of one that is not pooled,
  /// wider than its pieces.
  bool only_parts = false;
  bool equal_columns =
      false;               ///< pieces of its table are equally wide, and joined to the whole alone
  bool apart = false;      ///< no two pieces of its table are on one device
  bool one_width = false;  ///< pieces of its table on one device are equally wide
  const DeviceSet* only_on = nullptr;  ///< where it may be; null: anywhere

  /// By itself, from one device to another.
  [[nodiscard]] bool moves() const { return spread == Spread::kNone; }
  [[nodiscard]] bool goes_on(std::int32_t device) const { return may_be_on(only_on, device); }
  [[nodiscard]] bool everywhere() const {
    return spread == Spread::kAll || spread == Spread::kReplicas;
  }
};

/// All widths that splitting in two as evenly as split_point() allows can lead to: the widths that
/// cost models are trained on when tables have a power of two of columns. Of tables whose space has
/// any widths also all others that are a multiple of 4 columns, and what they leave. With `rows`
/// also parts of the rows of all columns, even blocks and replicas; of each table what its sharding
/// allows. Everything is interned when it is made, so that searches may run in parallel afterwards.
/// Immutable; thread-safe.
class ShapeCatalog {
 public:
  /// Cancelled by `cancel`, it is not complete() and of no use.
  ShapeCatalog(const SearchSpace& space, PlanEvaluator& evaluator, const RowShapes& rows = {},
               const CancelToken* cancel = nullptr);

  /// Of plans to go on from, by the shapes of all their shards in any order: all of the above of
  /// columns, the same of the widths of those shards, and row shards and replicas, if
  /// `whole_tables` all but whole tables, as pieces that do not move.
  static ShapeCatalog around(std::vector<ShardShape> shapes, bool whole_tables,
                             const SearchSpace& space, PlanEvaluator& evaluator,
                             const CancelToken* cancel = nullptr);

  [[nodiscard]] bool complete() const { return complete_; }
  /// The entry of a shard of a plan that the catalog is made around; kNoEntry where it has none.
  [[nodiscard]] EntryId of(const ShardShape& shape) const;

  [[nodiscard]] const CatalogEntry& entry(EntryId id) const {
    return entries_[static_cast<std::size_t>(id)];
  }
  /// Entries: numbers are below this.
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::int32_t tables() const {
    return static_cast<std::int32_t>(table_begin_.size()) - 1;
  }
  /// The whole of a table.
  [[nodiscard]] EntryId whole(std::int32_t table) const {
    return table_begin_[static_cast<std::size_t>(table)];
  }
  /// Whether a table may be in pieces that move: whole, in columns or in halves of its rows.
  [[nodiscard]] bool movable(std::int32_t table) const {
    const CatalogEntry& all = entry(whole(table));
    return !all.only_parts || all.first != kNoEntry || all.upper != kNoEntry ||
           (all.apart && !equal_blocks(table).empty());
  }
  /// Of a table in equal blocks: what its block may be, the widest first; the whole of its columns
  /// among them where it may be in one. With Spread::kHost those of its blocks over a host.
  [[nodiscard]] std::vector<EntryId> equal_blocks(std::int32_t table,
                                                  Spread spread = Spread::kNone) const;
  /// How many of that block a table in equal blocks has.
  [[nodiscard]] std::int32_t blocks_of(EntryId block) const {
    return entry(whole(entry(block).table)).dim / entry(block).dim;
  }
  /// Whether its columns may be in any widths.
  [[nodiscard]] bool any_widths(std::int32_t table) const {
    return !widths_.empty() && widths_[static_cast<std::size_t>(table)].all != kNoWidths;
  }
  /// Columns of the narrowest piece of a table with any widths.
  [[nodiscard]] std::int32_t least_columns(std::int32_t table) const {
    return widths_[static_cast<std::size_t>(table)].least;
  }
  /// The even block of a table's rows, of as many as devices; kNoEntry where there is none. The
  /// last block may be smaller: it counts as one of the others.
  [[nodiscard]] EntryId block(std::int32_t table) const {
    return blocks_.empty() ? kNoEntry : blocks_[static_cast<std::size_t>(table)];
  }
  /// The even block of a table's rows, of all columns, of as many as a host has devices; kNoEntry
  /// where there is none. It is halved by columns, like the whole.
  [[nodiscard]] EntryId host_block(std::int32_t table) const {
    return host_blocks_.empty() ? kNoEntry : host_blocks_[static_cast<std::size_t>(table)];
  }
  /// The whole of a table on every device; kNoEntry where the catalog has no such.
  [[nodiscard]] EntryId replica(std::int32_t table) const {
    return replicas_.empty() ? kNoEntry : replicas_[static_cast<std::size_t>(table)];
  }
  /// How many devices hold a piece of that entry at once.
  [[nodiscard]] std::int32_t holders(EntryId id) const {
    switch (entry(id).spread) {
      case Spread::kHost:
        return rows_.host;
      case Spread::kAll:
        return rows_.blocks;
      case Spread::kReplicas:
        return rows_.replicas;
      default:
        return 1;
    }
  }
  [[nodiscard]] std::int32_t host_devices() const { return rows_.host; }
  /// Whether the devices of that host may have the block of one.
  [[nodiscard]] bool goes_on_host(EntryId id, std::int32_t host) const;
  /// The entry of that size, or kNoEntry. Cost: the table's entries, about log2 of its dim and of
  /// the parts of its rows.
  [[nodiscard]] EntryId find(std::int32_t table, std::int64_t rows, std::int32_t dim,
                             Spread spread = Spread::kNone) const;
  /// Two pieces of a table as one: side by side or one above the other; kNoEntry when they are
  /// neither, or blocks.
  [[nodiscard]] EntryId joined(EntryId one, EntryId other) const;
  /// The same of blocks on one host, side by side; kNoEntry when they are none, or none of the
  /// size.
  [[nodiscard]] EntryId joined_on_host(EntryId one, EntryId other) const;

 private:
  /// What a catalog around a plan is made of.
  struct Around {
    std::vector<ShardShape> shapes;
    bool whole_tables = false;
  };
  /// Where the entries of a table with any widths are.
  struct Widths {
    std::size_t all = kNoWidths;  // in by_width_: one for each number of columns, from 0 on
    std::int32_t least = 0;
  };
  static constexpr std::size_t kNoWidths = static_cast<std::size_t>(-1);
  ShapeCatalog(const SearchSpace& space, PlanEvaluator& evaluator, const RowShapes& rows,
               const Around& around, const CancelToken* cancel);
  [[nodiscard]] EntryId end_of(std::int32_t table) const;
  [[nodiscard]] Spread spread_of(const ShardShape& shape) const;
  void add_shards(const SearchSpace& space, std::span<const ShardShape> shapes);
  EntryId add(const SearchSpace& space, const ShardShape& shape, Spread spread = Spread::kNone);
  EntryId add_columns(const SearchSpace& space, const ShardShape& shape,
                      Spread spread = Spread::kNone);
  EntryId add_equal_blocks(const SearchSpace& space, const ShardShape& all, std::int32_t most,
                           Spread spread = Spread::kNone);
  void add_widths(const SearchSpace& space, const ShardShape& whole);
  EntryId add_rows(const SearchSpace& space, const ShardShape& shape, std::int32_t parts);
  void add_spread(const SearchSpace& space, std::int32_t table);
  void intern(PlanEvaluator& evaluator, std::size_t& begin);

  RowShapes rows_;
  bool whole_tables_;  // only these move, of a catalog around plans
  std::vector<CatalogEntry> entries_;
  std::vector<EntryId> table_begin_;  // one more than tables
  std::vector<Widths> widths_;        // per table, or empty
  std::vector<EntryId> by_width_;
  std::vector<EntryId> blocks_;       // per table, or empty
  std::vector<EntryId> host_blocks_;  // per table, or empty
  std::vector<EntryId> replicas_;     // per table, or empty
  std::deque<DeviceSet> limits_;      // of the tables that have one
  const DeviceSet* limit_ = nullptr;  // of the table whose entries are added
  bool complete_ = true;
};

}  // namespace neuroshard::search
