#include "engine/planner/explain/other_layouts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/core/check_sharding.h"
#include "engine/core/row_blocks.h"
#include "engine/cost_model/capabilities.h"
#include "search/piece_sizes.h"

namespace neuroshard {
namespace {

using Visit = std::function<bool(const TableLayout&)>;

class Layouts {
 public:
  Layouts(const search::SearchSpace& space, const TableLayout& now, std::int32_t devices,
          std::span<const std::int32_t> targets, const Visit& visit)
      : own_(space.of(now.front().table)),
        table_(*own_.table),
        now_(now),
        devices_(devices),
        targets_(targets),
        visit_(visit),
        whole_(space.whole_on(0, now.front().table)),
        replica_(space.whole_on(kEveryDevice, now.front().table)) {}

  void add_whole() {
    if (!own_.sharding.whole && devices_ > 1) return;
    for (const std::int32_t device : targets_) {
      if (!own_.devices.has(device)) continue;
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
      if (!goes_on_) return;
      if (!own_.devices.has(device) || holds(device)) continue;
      if (shard.dim() < table_.dim) {
        TableLayout moved = now_;
        moved[index].device = device;
        add(moved);
      }
      const std::int32_t first = search::split_point(own_, shard.dim());
      if (first == 0 || !may_be_split()) continue;
      TableLayout split = now_;
      split[index].column_end = shard.column_begin + first;
      split.push_back(shard);
      split.back().column_begin += first;
      split.back().device = device;
      add(split);
    }
  }

  void add_rows() { add_blocks(search::even_block(own_, devices_), 0, devices_); }

  /// Of `each` devices, where there are several.
  void add_host_rows(std::int32_t each) {
    if (each == 0) return;
    const std::int64_t block = search::even_block_of_host(own_, each);
    std::set<std::int32_t> hosts;
    for (const std::int32_t device : targets_) hosts.insert(device / each);
    for (const std::int32_t host : hosts) {
      const bool allowed = own_.devices.all() || search::has_host(own_.devices, host, each);
      if (allowed && host >= search::first_host(block)) add_blocks(block, host * each, each);
    }
  }

  void add_replica() {
    if (devices_ > 1 && search::may_be_replicated(own_)) add({replica_});
  }

 private:
  [[nodiscard]] bool holds(std::int32_t device) const {
    return std::any_of(now_.begin(), now_.end(),
                       [&](const Shard& shard) { return shard.device == device; });
  }
  /// Sequences in other pieces are split all at once, if at all.
  [[nodiscard]] bool may_be_split() const { return table_.pooled || now_.size() == 1; }

  /// None for a block without rows.
  void add_blocks(std::int64_t block, std::int32_t first, std::int32_t count) {
    if (block == 0) return;
    TableLayout rows;
    for (std::int32_t k = 0; k < count; ++k) {
      rows.push_back(search::block_on(whole_, block, k));
      rows.back().device = first + k;
    }
    if (!deals_to(first, count)) add(rows);
  }

  /// Whether the rows are on those devices by now, in blocks of a modulo: costs take them for even
  /// ones.
  [[nodiscard]] bool deals_to(std::int32_t first, std::int32_t count) const {
    if (std::ssize(now_) != count) return false;
    for (std::int32_t k = 0; k < count; ++k) {
      const Shard& block = now_[static_cast<std::size_t>(k)];
      if (block.device != first + k || block.dim() != table_.dim) return false;
      const RowRange rows{block.row_begin, block.row_end};
      if (rows != modulo_rows(table_.rows, count, k)) return false;
    }
    return true;
  }

  /// Where what stays of the table, too, is as it may be.
  void add(const TableLayout& layout) {
    if (!goes_on_ || layout == now_ || !check_sharding(table_, layout, devices_).ok()) return;
    goes_on_ = visit_(layout);
  }

  const search::TableSpace& own_;
  const Table& table_;
  const TableLayout& now_;
  const std::int32_t devices_;
  std::span<const std::int32_t> targets_;
  const Visit& visit_;
  const Shard whole_;
  const Shard replica_;
  bool goes_on_ = true;
};

}  // namespace

void for_each_other_layout(const search::SearchSpace& space, const TableLayout& now,
                           const CostModels& models, const Cluster& cluster,
                           std::span<const std::int32_t> targets,
                           const std::function<bool(const TableLayout&)>& visit) {
  Layouts layouts(space, now, cluster.devices, targets, visit);
  layouts.add_whole();
  for (std::size_t index = 0; index < now.size(); ++index) layouts.add_columns(index);
  const Capabilities known = capabilities(models);
  const bool rows = known.row_splits != RowSplits::kOff;
  if (rows && cluster.devices <= known.row_parts) layouts.add_rows();
  const std::int32_t on_host = block_host_devices(known, cluster);
  if (rows && on_host > 0) layouts.add_host_rows(on_host);
  if (known.replicas) layouts.add_replica();
}

}  // namespace neuroshard
