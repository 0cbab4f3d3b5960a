#include "engine/explain/other_layouts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "search/piece_sizes.h"

namespace neuroshard {
namespace {

class Layouts {
 public:
  Layouts(const Table& table, const TableLayout& now, std::int32_t devices,
          std::span<const std::int32_t> targets)
      : table_(table), now_(now), devices_(devices), targets_(targets) {
    whole_ = {now.front().table, 0, table.rows, 0, table.dim, 0};
  }

  void add_whole() {
    if (!table_.sharding.whole && devices_ > 1) return;
    for (const std::int32_t device : targets_) {
      if (!table_.devices.has(device)) continue;
      Shard shard = whole_;
      shard.device = device;
      add({shard});
    }
  }

  /// Of shards with all rows.
  void add_columns(std::size_t index) {
    const Shard& shard = now_[index];
    if (shard.device == kEveryDevice || shard.rows() != table_.rows) return;
    for (const std::int32_t device : targets_) {
      if (!table_.devices.has(device) || holds(device)) continue;
      if (shard.dim() < table_.dim) {
        TableLayout moved = now_;
        moved[index].device = device;
        add(std::move(moved));
      }
      const std::int32_t first = search::split_point(table_, shard.dim());
      if (first == 0 || !may_be_split()) continue;
      TableLayout split = now_;
      split[index].column_end = shard.column_begin + first;
      split.push_back(shard);
      split.back().column_begin += first;
      split.back().device = device;
      add(std::move(split));
    }
  }

  void add_rows() { add_blocks(search::even_block(table_, devices_), 0, devices_); }

  /// Of `each` devices, where there are several.
  void add_host_rows(std::int32_t each) {
    if (each == 0) return;
    const std::int64_t block = search::even_block_of_host(table_, each);
    std::set<std::int32_t> hosts;
    for (const std::int32_t device : targets_) hosts.insert(device / each);
    for (const std::int32_t host : hosts) {
      const bool allowed = table_.devices.all() || search::has_host(table_.devices, host, each);
      if (allowed && host >= search::first_host(block)) add_blocks(block, host * each, each);
    }
  }

  void add_replica() {
    if (devices_ < 2 || table_.kernel.offloaded() || !search::may_be_replicated(table_)) return;
    Shard shard = whole_;
    shard.device = kEveryDevice;
    add({shard});
  }

  [[nodiscard]] std::vector<TableLayout> take() { return std::move(layouts_); }

 private:
  [[nodiscard]] bool holds(std::int32_t device) const {
    return std::any_of(now_.begin(), now_.end(),
                       [&](const Shard& shard) { return shard.device == device; });
  }
  /// Sequences have two equal halves at most.
  [[nodiscard]] bool may_be_split() const { return table_.pooled || now_.size() == 1; }

  /// None for a block without rows.
  void add_blocks(std::int64_t block, std::int32_t first, std::int32_t count) {
    if (block == 0) return;
    TableLayout rows;
    for (std::int32_t k = 0; k < count; ++k) {
      rows.push_back(search::block_on(whole_, block, k));
      rows.back().device = first + k;
    }
    add(std::move(rows));
  }

  void add(TableLayout layout) {
    if (layout != now_) layouts_.push_back(std::move(layout));
  }

  const Table& table_;
  const TableLayout& now_;
  const std::int32_t devices_;
  std::span<const std::int32_t> targets_;
  Shard whole_;
  std::vector<TableLayout> layouts_;
};

}  // namespace

std::vector<TableLayout> other_layouts(const Table& table, const TableLayout& now,
                                       const CostModels& models, std::int32_t devices,
                                       std::span<const std::int32_t> targets) {
  Layouts layouts(table, now, devices, targets);
  layouts.add_whole();
  for (std::size_t index = 0; index < now.size(); ++index) layouts.add_columns(index);
  const bool rows = known_row_splits(models) != RowSplits::kOff;
  if (rows && devices <= known_row_parts(models)) layouts.add_rows();
  if (rows) layouts.add_host_rows(host_devices(devices, known_devices_per_host(models)));
  if (knows_replicas(models)) layouts.add_replica();
  return layouts.take();
}

}  // namespace neuroshard
