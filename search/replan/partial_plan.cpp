#include "search/replan/partial_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "search/local/plan_coster.h"

namespace neuroshard::search {
namespace {

// Tables that may go back next: at most, and of all steps together.
constexpr std::size_t kTried = 8;
constexpr std::size_t kTriedInAll = 20000;

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

class Reverting {
 public:
  Reverting(const Plan& now, const HeldCells& held, const Problem& problem,
            const PlanEvaluator& evaluator, const ShapeCatalog& catalog)
      : memory_bytes_(problem.cluster.memory_bytes),
        catalog_(catalog),
        held_(held),
        now_(problem.workload.tables.size()),
        moved_(now_.size()),
        plan_(problem, evaluator, catalog),
        coster_(evaluator) {
    const CellPlan own = search::cells_of(now, catalog);
    for (std::size_t k = 0; k < own.pieces.size(); ++k) {
      now_[static_cast<std::size_t>(own.cells[k].table)].push_back({own.pieces[k], own.cells[k]});
    }
  }

  /// Of tables with pieces that do not move, what there is now. False when a shard has no entry.
  bool start(const Plan& plan) {
    CellPlan all;
    const auto add = [&](const Placed& piece, const Shard& cells) {
      all.pieces.push_back(piece);
      all.cells.push_back(cells);
    };
    for (std::size_t table = 0; table < now_.size(); ++table) {
      if (!stays(table)) continue;
      for (const auto& [piece, cells] : now_[table]) add(piece, cells);
    }
    for (const Shard& shard : plan.shards) {
      const auto table = static_cast<std::size_t>(shard.table);
      if (stays(table)) continue;
      const EntryId entry = catalog_.find(shard.table, shard.rows(), shard.dim());
      if (entry == kNoEntry) return false;
      add({entry, shard.device}, shard);
      moved_[table] += held_.missing_bytes(shard);
    }
    cells_ = std::move(all.cells);
    plan_.assign(all.pieces);
    moved_bytes_ = std::accumulate(moved_.begin(), moved_.end(), std::int64_t{0});
    cost_ = cost();
    return true;
  }

  /// Milliseconds of the whole plan.
  [[nodiscard]] double cost_ms() const { return cost_; }
  [[nodiscard]] std::int64_t moved_bytes() const { return moved_bytes_; }
  [[nodiscard]] bool fits() const {
    const std::span<const std::int64_t> bytes = plan_.bytes();
    return *std::max_element(bytes.begin(), bytes.end()) <= memory_bytes_;
  }
  [[nodiscard]] CellPlan plan() const { return {plan_.assignment(), cells_}; }

  /// One table more is as it is now; false when none can be. Of its bytes, so many count at most.
  bool revert_one(std::int64_t counted) {
    std::int32_t best = -1;
    double least = 0;
    std::size_t tried = 0;
    for (const std::int32_t table : most_moved_first()) {
      if (tried++ >= affordable() && best >= 0) break;
      const std::int64_t bytes = std::min(counted, moved_[static_cast<std::size_t>(table)]);
      revert(table);
      const double price = (cost() - cost_) / static_cast<double>(bytes);
      const bool possible = fits();
      take_back();
      if (!possible || (best >= 0 && price >= least)) continue;
      best = table;
      least = price;
    }
    if (best < 0) return false;
    revert(best);
    undo_.clear();
    keep(best);
    return true;
  }

 private:
  [[nodiscard]] bool stays(std::size_t table) const {
    return std::any_of(now_[table].begin(), now_[table].end(),
                       [&](const auto& own) { return !catalog_.entry(own.first.entry).moves(); });
  }

  double cost() { return coster_.cost(plan_.compute_ms(), plan_.dim_sums()); }

  [[nodiscard]] std::size_t affordable() const {
    return std::clamp<std::size_t>(kTriedInAll / now_.size(), 1, kTried);
  }

  /// Tables that are not as they are now; those that are looked at first are sorted.
  [[nodiscard]] std::vector<std::int32_t> most_moved_first() const {
    std::vector<std::int32_t> tables;
    for (std::size_t table = 0; table < moved_.size(); ++table) {
      if (moved_[table] > 0) tables.push_back(static_cast<std::int32_t>(table));
    }
    const auto more_moved = [&](std::int32_t a, std::int32_t b) {
      const std::int64_t one = moved_[static_cast<std::size_t>(a)];
      const std::int64_t other = moved_[static_cast<std::size_t>(b)];
      return one != other ? one > other : a < b;
    };
    const std::size_t first = std::min(affordable(), tables.size());
    std::partial_sort(tables.begin(), tables.begin() + static_cast<std::ptrdiff_t>(first),
                      tables.end(), more_moved);
    return tables;
  }

  void revert(std::int32_t table) {
    const std::span<const std::int32_t> of_table = plan_.pieces_of(table);
    for (const std::int32_t piece : std::vector<std::int32_t>(of_table.begin(), of_table.end())) {
      undo_.push_back(plan_.apply({piece, {kNoEntry, kNoDevice}, {}}));
    }
    for (const auto& [piece, cells] : now_[static_cast<std::size_t>(table)]) {
      undo_.push_back(plan_.apply({plan_.next_piece(), piece, {}}));
    }
  }

  void take_back() {
    for (; !undo_.empty(); undo_.pop_back()) plan_.apply(undo_.back());
  }

  /// The cells of a table that has just gone back: its pieces are in the order of its cells.
  void keep(std::int32_t table) {
    const auto index = static_cast<std::size_t>(table);
    cells_.resize(plan_.numbers());
    const std::span<const std::int32_t> pieces = plan_.pieces_of(table);
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      cells_[static_cast<std::size_t>(pieces[k])] = now_[index][k].second;
    }
    moved_bytes_ -= std::exchange(moved_[index], 0);
    cost_ = cost();
  }

  const std::int64_t memory_bytes_;
  const ShapeCatalog& catalog_;
  const HeldCells& held_;
  std::vector<std::vector<std::pair<Placed, Shard>>> now_;  // by table
  std::vector<std::int64_t> moved_;                         // bytes, by table
  std::int64_t moved_bytes_ = 0;
  LocalPlan plan_;
  PlanCoster coster_;
  std::vector<Shard> cells_;
  std::vector<Edit> undo_;
  double cost_ = 0;
};

}  // namespace

std::optional<CellPlan> partial_plan(const Plan& plan, const Plan& now, const HeldCells& held,
                                     const Problem& problem, const PlanEvaluator& evaluator,
                                     const ShapeCatalog& catalog, std::int64_t limit_bytes,
                                     const std::function<bool()>& stop) {
  std::optional<CellPlan> best;
  double least = 0;
  // Beyond the limit, bytes below it are of no use; but another way there may be cheaper.
  for (const bool down_to_limit : {true, false}) {
    Reverting reverting(now, held, problem, evaluator, catalog);
    if (!reverting.start(plan)) return std::nullopt;
    std::int64_t beyond = 0;
    do {
      beyond = reverting.moved_bytes() - limit_bytes;
      if (beyond > 0 || !reverting.fits()) continue;
      if (best && reverting.cost_ms() >= least) continue;
      best = reverting.plan();
      least = reverting.cost_ms();
    } while (!stop() && reverting.revert_one(down_to_limit && beyond > 0 ? beyond : kAll));
  }
  return best;
}

}  // namespace neuroshard::search
