#include "search/local/single_changes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "search/local/plan_coster.h"
#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

constexpr std::size_t kMostDevices = 16;  // that pieces are tried on

class SingleChanges {
 public:
  SingleChanges(const Assignment& start, const Problem& problem, const PlanEvaluator& evaluator,
                const ShapeCatalog& catalog, std::int64_t most, const std::function<bool()>& stop)
      : memory_bytes_(problem.cluster.memory_bytes),
        most_(most),
        stop_(stop),
        catalog_(catalog),
        plan_(problem, evaluator, catalog),
        coster_(evaluator) {
    plan_.assign(start);
    cost_ = coster_.cost(plan_);
  }

  WalkResult run() {
    std::int32_t without_gain = 0;
    while (without_gain < catalog_.tables() && !over()) {
      find_targets();
      for (const std::int32_t table : in_order()) {
        if (over() || without_gain >= catalog_.tables()) break;
        without_gain = improve(table) ? 0 : without_gain + 1;
      }
    }
    return {plan_.assignment(), cost_, candidates_};
  }

 private:
  [[nodiscard]] bool over() const { return candidates_ >= most_ || stop_(); }

  /// The devices that have the least to do.
  void find_targets() {
    coster_.cost(plan_);
    const std::vector<double>& total_ms = coster_.total_ms();
    targets_.resize(total_ms.size());
    std::iota(targets_.begin(), targets_.end(), 0);
    std::stable_sort(targets_.begin(), targets_.end(), [&](std::int32_t a, std::int32_t b) {
      return total_ms[static_cast<std::size_t>(a)] < total_ms[static_cast<std::size_t>(b)];
    });
    slowest_ = targets_.back();
    targets_.resize(std::min(targets_.size(), kMostDevices));
  }

  [[nodiscard]] std::vector<std::int32_t> in_order() const {
    std::vector<std::int32_t> tables(static_cast<std::size_t>(catalog_.tables()));
    std::iota(tables.begin(), tables.end(), 0);
    std::stable_partition(tables.begin(), tables.end(),
                          [&](std::int32_t table) { return plan_.has_part(table, slowest_); });
    return tables;
  }

  /// Makes the change of the table that makes the plan cheapest, if one makes it cheaper.
  bool improve(std::int32_t table) {
    if (plan_.pieces_of(table).empty()) return false;  // in host memory
    best_.clear();
    least_ = cost_ - kRealGain * std::abs(cost_);
    try_layouts(table);
    const std::vector<std::int32_t> pieces(plan_.pieces_of(table).begin(),
                                           plan_.pieces_of(table).end());
    for (const std::int32_t piece : pieces) try_elsewhere(piece);
    if (best_.empty()) return false;
    for (const Edit& edit : best_) plan_.apply(edit);
    cost_ = coster_.cost(plan_);
    return true;
  }

  void try_layouts(std::int32_t table) {
    for (const EntryId everywhere : {catalog_.replica(table), catalog_.block(table)}) {
      if (everywhere != kNoEntry) try_layout(table, everywhere, 0);
    }
    if (const EntryId block = catalog_.host_block(table); block != kNoEntry) {
      const std::int32_t each = catalog_.host_devices();
      for (std::int32_t host = 0; host < plan_.devices() / each; ++host) {
        const bool has_rows = host >= first_host(catalog_.entry(block).rows);
        if (has_rows && catalog_.goes_on_host(block, host)) try_layout(table, block, host * each);
      }
    }
    const EntryId whole = catalog_.whole(table);
    if (catalog_.entry(whole).only_parts || !catalog_.movable(table)) return;
    for (const std::int32_t device : targets_) {
      if (catalog_.entry(whole).goes_on(device)) try_layout(table, whole, device);
    }
  }

  /// All of the table as that entry, on the devices that hold it at once, from `first` on.
  void try_layout(std::int32_t table, EntryId entry, std::int32_t first) {
    const std::int32_t holders = catalog_.holders(entry);
    const std::vector<std::int32_t> pieces(plan_.pieces_of(table).begin(),
                                           plan_.pieces_of(table).end());
    const Placed now = plan_.placed(pieces.front());
    if (now.entry == entry && std::ssize(pieces) == holders &&
        (holders > 1 ? now.device / holders == first / holders : now.device == first)) {
      return;
    }
    for (const std::int32_t piece : pieces) apply({piece, {kNoEntry, kNoDevice}, {}});
    for (std::int32_t device = first; device < first + holders; ++device) {
      apply({plan_.next_piece(), {entry, device}, {}});
    }
    judge();
  }

  /// A piece that moves, or the second half of its columns, on other devices.
  void try_elsewhere(std::int32_t piece) {
    const Placed now = plan_.placed(piece);
    const CatalogEntry& entry = catalog_.entry(now.entry);
    if (!entry.moves()) return;
    const bool whole = now.entry == catalog_.whole(entry.table);
    const bool splits = entry.first != kNoEntry && !entry.equal_columns && !entry.only_parts;
    for (const std::int32_t device : targets_) {
      if (!entry.goes_on(device) || plan_.has_part(entry.table, device)) continue;
      if (!whole) {
        apply({piece, {now.entry, device}, {}});
        judge();
      }
      if (!splits) continue;
      apply({piece, {entry.first, now.device}, {}});
      apply({plan_.next_piece(), {entry.rest, device}, {}});
      judge();
    }
  }

  void apply(const Edit& edit) {
    done_.push_back(edit);
    undo_.push_back(plan_.apply(edit));
  }

  /// Notes what was applied where it makes the cheapest plan so far, and takes it back.
  void judge() {
    if (!over() && plan_.fits(memory_bytes_)) {
      ++candidates_;
      const double cost = coster_.cost(plan_);
      if (cost < least_) {
        least_ = cost;
        best_ = done_;
      }
    }
    for (; !undo_.empty(); undo_.pop_back()) plan_.apply(undo_.back());
    done_.clear();
  }

  const std::int64_t memory_bytes_;
  const std::int64_t most_;
  const std::function<bool()>& stop_;
  const ShapeCatalog& catalog_;
  LocalPlan plan_;
  PlanCoster coster_;
  double cost_ = 0;
  std::int64_t candidates_ = 0;
  std::vector<std::int32_t> targets_;
  std::int32_t slowest_ = 0;
  std::vector<Edit> done_;
  std::vector<Edit> undo_;
  std::vector<Edit> best_;
  double least_ = 0;
};

}  // namespace

WalkResult with_single_changes(const Assignment& start, const Problem& problem,
                               const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                               std::int64_t most, const std::function<bool()>& stop) {
  return SingleChanges(start, problem, evaluator, catalog, most, stop).run();
}

}  // namespace neuroshard::search
