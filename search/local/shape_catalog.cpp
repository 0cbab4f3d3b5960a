#include "search/local/shape_catalog.h"

#include "search/feasibility.h"

namespace neuroshard::search {

ShapeCatalog::ShapeCatalog(const Workload& workload, PlanEvaluator& evaluator,
                           const CancelToken* cancel) {
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    if (cancel != nullptr && cancel->cancelled()) {
      complete_ = false;
      return;
    }
    table_begin_.push_back(static_cast<EntryId>(entries_.size()));
    add(workload, evaluator, static_cast<std::int32_t>(index), workload.tables[index].dim);
  }
  table_begin_.push_back(static_cast<EntryId>(entries_.size()));
}

EntryId ShapeCatalog::find(std::int32_t table, std::int32_t dim) const {
  const EntryId end = table_begin_[static_cast<std::size_t>(table) + 1];
  for (EntryId id = whole(table); id < end; ++id) {
    if (entry(id).dim == dim) return id;
  }
  return kNoEntry;
}

EntryId ShapeCatalog::add(const Workload& workload, PlanEvaluator& evaluator, std::int32_t table,
                          std::int32_t dim) {
  const auto end = static_cast<EntryId>(entries_.size());
  for (EntryId id = whole(table); id < end; ++id) {
    if (entry(id).dim == dim) return id;
  }
  const ShardShape shape{table, workload.tables[static_cast<std::size_t>(table)].rows, dim};
  entries_.push_back({table, dim, shard_bytes(workload, shape), evaluator.intern(shape)});
  const std::int32_t columns = split_point(dim);
  if (columns == 0) return end;
  const EntryId first = add(workload, evaluator, table, columns);
  const EntryId rest = add(workload, evaluator, table, dim - columns);
  entries_[static_cast<std::size_t>(end)].first = first;
  entries_[static_cast<std::size_t>(end)].rest = rest;
  return end;
}

}  // namespace neuroshard::search
