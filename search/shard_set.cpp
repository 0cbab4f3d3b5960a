#include "search/shard_set.h"

#include <algorithm>
#include <utility>

#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

bool dearer(const PlacementItem& a, const PlacementItem& b) {
  if (a.cost != b.cost) return a.cost > b.cost;
  return a.index > b.index;
}

bool larger(const PlacementItem& a, const PlacementItem& b) {
  if (a.bytes != b.bytes) return a.bytes > b.bytes;
  return a.index > b.index;
}

PlacementItem item_of(const ShardShape& shape, ShapeId id, std::int32_t index,
                      const SearchSpace& space, const PlanEvaluator& evaluator) {
  const TableSpace& table = space.of(shape.table);
  return {evaluator.shape_cost(id), space.bytes(shape), evaluator.exchanged(shape).dims, id, index,
          limit_of(table.devices)};
}

}  // namespace

ShardSet ShardSet::whole_tables(const SearchSpace& space, PlanEvaluator& evaluator) {
  ShardSet set;
  std::vector<ShardShape> shapes;
  for (std::size_t table = 0; table < space.tables.size(); ++table) {
    set.shards_.push_back(space.whole_on(0, static_cast<std::int32_t>(table)));
    shapes.push_back(shape_of(set.shards_.back()));
  }
  const std::vector<ShapeId> ids = evaluator.intern_all(shapes);
  for (std::size_t table = 0; table < shapes.size(); ++table) {
    set.order_.push_back(
        item_of(shapes[table], ids[table], static_cast<std::int32_t>(table), space, evaluator));
  }
  std::sort(set.order_.begin(), set.order_.end(), dearer);
  return set;
}

std::vector<std::int32_t> ShardSet::candidates(std::size_t count) const {
  count = std::min(count, order_.size());
  const auto middle = static_cast<std::ptrdiff_t>(count);
  std::vector<PlacementItem> items = order_;
  std::partial_sort(items.begin(), items.begin() + middle, items.end(), larger);
  std::vector<std::int32_t> indices;
  for (std::size_t k = 0; k < count; ++k) {
    indices.push_back(items[k].index);
    indices.push_back(order_[k].index);
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

std::vector<std::int32_t> ShardSet::by_bytes() const {
  std::vector<PlacementItem> items = order_;
  std::sort(items.begin(), items.end(), larger);
  std::vector<std::int32_t> indices;
  for (const PlacementItem& item : items) indices.push_back(item.index);
  return indices;
}

void ShardSet::split(std::int32_t index, std::int32_t columns, const SearchSpace& space,
                     PlanEvaluator& evaluator) {
  Shard& first = shards_[static_cast<std::size_t>(index)];
  Shard rest = first;
  first.column_end = first.column_begin + columns;
  rest.column_begin = first.column_end;
  order_.erase(std::find_if(order_.begin(), order_.end(),
                            [&](const PlacementItem& item) { return item.index == index; }));
  shards_.push_back(rest);
  insert(index, space, evaluator);
  insert(static_cast<std::int32_t>(shards_.size()) - 1, space, evaluator);
}

void ShardSet::insert(std::int32_t index, const SearchSpace& space, PlanEvaluator& evaluator) {
  const ShardShape shape = shape_of(shard(index));
  const PlacementItem item = item_of(shape, evaluator.intern(shape), index, space, evaluator);
  order_.insert(std::lower_bound(order_.begin(), order_.end(), item, dearer), item);
}

bool ShardSet::split_largest(std::size_t count, const SearchSpace& space, PlanEvaluator& evaluator,
                             const StopCheck& stop) {
  constexpr std::size_t kPerCheck = 64;
  std::size_t done = 0;
  for (const std::int32_t index : by_bytes()) {
    const TableSpace& table = space.of(shard(index).table);
    const std::int32_t columns = split_point(table, shard(index).dim());
    if (columns == 0) continue;
    split(index, columns, space, evaluator);
    if (++done == count || (done % kPerCheck == 0 && stop.stop())) break;
  }
  return done > 0;
}

Plan ShardSet::plan(std::int32_t devices, std::span<const std::int32_t> device_of) const {
  Plan plan{devices, shards_};
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    plan.shards[index].device = device_of[index];
  }
  return plan;
}

}  // namespace neuroshard::search
