#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/table.h"
#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// Number of a size of a table, in a ShapeCatalog.
using EntryId = std::int32_t;
inline constexpr EntryId kNoEntry = -1;

/// One width that pieces of a table may have. Which columns they are does not matter to cost or
/// memory, so a plan in the making knows widths only.
struct CatalogEntry {
  std::int32_t table = 0;
  std::int32_t dim = 0;
  std::int64_t bytes = 0;
  ShapeId shape = 0;
  EntryId first = kNoEntry;  ///< the two pieces it is split into; none: it stays whole
  EntryId rest = kNoEntry;
};

/// All widths that splitting in two as evenly as split_point() allows can lead to: the widths that
/// cost models are trained on when tables have a power of two of columns. Everything is interned
/// when it is made, so that searches may run in parallel afterwards. Immutable; thread-safe.
class ShapeCatalog {
 public:
  /// Cancelled by `cancel`, it is not complete() and of no use.
  ShapeCatalog(const Workload& workload, PlanEvaluator& evaluator,
               const CancelToken* cancel = nullptr);

  [[nodiscard]] bool complete() const { return complete_; }

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
  /// The entry of that width, or kNoEntry. Cost: the table's entries, about log2 of its dim.
  [[nodiscard]] EntryId find(std::int32_t table, std::int32_t dim) const;

 private:
  EntryId add(const Workload& workload, PlanEvaluator& evaluator, std::int32_t table,
              std::int32_t dim);

  std::vector<CatalogEntry> entries_;
  std::vector<EntryId> table_begin_;  // one more than tables
  bool complete_ = true;
};

}  // namespace neuroshard::search
