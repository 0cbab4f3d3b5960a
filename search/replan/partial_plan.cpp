#include "search/replan/partial_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "search/local/plan_coster.h"

namespace neuroshard::search {
namespace {

// Tables that may go back next: at most, and of all steps together.
constexpr std::size_t kTried = 8;
constexpr std::size_t kTriedInAll = 20000;
constexpr std::size_t kLookedAt = 8;  // times as many, where memory has no room for some

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

class Reverting {
 public:
  Reverting(const RunningPlan& now, std::int64_t most, std::int64_t& evaluations,
            const std::function<bool()>& stop)
      : memory_bytes_(now.problem.cluster.memory_bytes),
        whole_tables_(now.limit.whole_tables),
        catalog_(now.catalog),
        held_(now.held),
        hosts_(now.hosts),
        most_(most),
        evaluations_(evaluations),
        stop_(stop),
        now_(pieces_of(now.plan)),
        moved_now_(now_.size()),
        moved_(now_.size()),
        plan_(now.problem, now.evaluator, now.catalog),
        coster_(now.evaluator) {
    for (std::size_t table = 0; table < now_.size(); ++table) {
      for (const auto& [piece, cells] : now_[table]) {
        moved_now_[table] += held_.missing_bytes(cells);
      }
    }
  }

  /// Of tables that have to stay, what there is now.
  void start(const Plan& plan) {
    const std::vector<Pieces> wanted = pieces_of(plan);
    Assignment pieces;
    for (std::size_t table = 0; table < now_.size(); ++table) {
      const bool stays = (whole_tables_ && !all_move(now_[table])) || !can_be(wanted[table]);
      for (const auto& [piece, cells] : stays ? now_[table] : wanted[table]) {
        pieces.push_back(piece);
        cells_.push_back(cells);
        hosts_.add(cells);
        moved_[table] += held_.missing_bytes(cells);
      }
    }
    plan_.assign(pieces);
    moved_bytes_ = std::accumulate(moved_.begin(), moved_.end(), std::int64_t{0});
    cost_ = cost();
  }

  /// Milliseconds of the whole plan.
  [[nodiscard]] double cost_ms() const { return cost_; }
  [[nodiscard]] std::int64_t moved_bytes() const { return moved_bytes_; }
  [[nodiscard]] bool fits() const {
    const std::span<const std::int64_t> bytes = plan_.bytes();
    return *std::max_element(bytes.begin(), bytes.end()) <= memory_bytes_ && hosts_.fits();
  }
  [[nodiscard]] CellPlan plan() const { return {plan_.assignment(), cells_}; }

  /// One table more is as it is now; false when none can be. Of its bytes, so many count at most.
  bool revert_one(std::int64_t counted) {
    std::int32_t best = -1;
    double least = 0;
    std::size_t tried = 0;
    for (const std::int32_t table : most_moved()) {
      if (tried >= affordable() || ended()) break;
      revert(table);
      if (fits()) {
        ++tried;
        const std::int64_t bytes = std::min(counted, less_moved(table));
        const double price = (cost() - cost_) / static_cast<double>(bytes);
        if (best < 0 || price < least) {
          best = table;
          least = price;
        }
      }
      take_back(table);
    }
    if (best < 0) return false;
    revert(best);
    undo_.clear();
    keep(best);
    return true;
  }

 private:
  using Pieces = std::vector<std::pair<Placed, Shard>>;

  /// A plan's, by table.
  [[nodiscard]] std::vector<Pieces> pieces_of(const Plan& plan) const {
    const CellPlan own = cells_of(plan, catalog_);
    std::vector<Pieces> pieces(static_cast<std::size_t>(catalog_.tables()));
    for (std::size_t k = 0; k < own.pieces.size(); ++k) {
      pieces[static_cast<std::size_t>(own.cells[k].table)].push_back({own.pieces[k], own.cells[k]});
    }
    return pieces;
  }

  [[nodiscard]] bool all_move(const Pieces& pieces) const {
    return std::all_of(pieces.begin(), pieces.end(),
                       [&](const auto& own) { return catalog_.entry(own.first.entry).moves(); });
  }

  /// Sizes that the catalog has, and no two blocks of columns on a device, for which trainers have
  /// ways of their own; one piece where only whole tables move.
  [[nodiscard]] bool can_be(const Pieces& pieces) const {
    if (whole_tables_ && pieces.size() > 1) return false;
    std::set<std::int32_t> devices;
    return std::all_of(pieces.begin(), pieces.end(), [&](const auto& own) {
      if (own.first.entry == kNoEntry) return false;
      const bool alone = devices.insert(own.first.device).second;
      return alone || !catalog_.entry(own.first.entry).moves();
    });
  }

  /// Bytes that do not move when the table goes back.
  [[nodiscard]] std::int64_t less_moved(std::int32_t table) const {
    const auto index = static_cast<std::size_t>(table);
    return moved_[index] - moved_now_[index];
  }

  [[nodiscard]] bool ended() const { return evaluations_ >= most_ || stop_(); }

  double cost() {
    ++evaluations_;
    return coster_.cost(plan_);
  }

  [[nodiscard]] std::size_t affordable() const {
    return std::clamp<std::size_t>(kTriedInAll / now_.size(), 1, kTried);
  }

  /// Of the tables that are not as they are now, as many as are looked at.
  [[nodiscard]] std::vector<std::int32_t> most_moved() const {
    std::vector<std::int32_t> tables;
    for (std::size_t table = 0; table < moved_.size(); ++table) {
      const auto index = static_cast<std::int32_t>(table);
      if (less_moved(index) > 0) tables.push_back(index);
    }
    const auto more_moved = [&](std::int32_t a, std::int32_t b) {
      const std::int64_t one = less_moved(a);
      const std::int64_t other = less_moved(b);
      return one != other ? one > other : a < b;
    };
    const std::size_t looked_at = std::min(kLookedAt * affordable(), tables.size());
    std::partial_sort(tables.begin(), tables.begin() + static_cast<std::ptrdiff_t>(looked_at),
                      tables.end(), more_moved);
    tables.resize(looked_at);
    return tables;
  }

  void revert(std::int32_t table) {
    const std::span<const std::int32_t> of_table = plan_.pieces_of(table);
    for (const std::int32_t piece : std::vector<std::int32_t>(of_table.begin(), of_table.end())) {
      undo_.push_back(plan_.apply({piece, {kNoEntry, kNoDevice}, {}}));
      hosts_.remove(cells_[static_cast<std::size_t>(piece)]);
    }
    for (const auto& [piece, cells] : now_[static_cast<std::size_t>(table)]) {
      undo_.push_back(plan_.apply({plan_.next_piece(), piece, {}}));
      hosts_.add(cells);
    }
  }

  /// The revert of that table.
  void take_back(std::int32_t table) {
    for (; !undo_.empty(); undo_.pop_back()) plan_.apply(undo_.back());
    for (const auto& [piece, cells] : now_[static_cast<std::size_t>(table)]) hosts_.remove(cells);
    for (const std::int32_t piece : plan_.pieces_of(table)) {
      hosts_.add(cells_[static_cast<std::size_t>(piece)]);
    }
  }

  /// The cells of a table that has just gone back: its pieces are in the order of its cells.
  void keep(std::int32_t table) {
    const auto index = static_cast<std::size_t>(table);
    cells_.resize(plan_.numbers());
    const std::span<const std::int32_t> pieces = plan_.pieces_of(table);
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      cells_[static_cast<std::size_t>(pieces[k])] = now_[index][k].second;
    }
    moved_bytes_ -= less_moved(table);
    moved_[index] = moved_now_[index];
    cost_ = cost();
  }

  const std::int64_t memory_bytes_;
  const bool whole_tables_;
  const ShapeCatalog& catalog_;
  const HeldCells& held_;
  HostLoads hosts_;
  const std::int64_t most_;
  std::int64_t& evaluations_;
  const std::function<bool()>& stop_;
  std::vector<Pieces> now_;              // by table
  std::vector<std::int64_t> moved_now_;  // bytes, by table, of the plan that it goes back to
  std::vector<std::int64_t> moved_;      // the same of the plan as it is
  std::int64_t moved_bytes_ = 0;
  LocalPlan plan_;
  PlanCoster coster_;
  std::vector<Shard> cells_;
  std::vector<Edit> undo_;
  double cost_ = 0;
};

}  // namespace

std::optional<CellPlan> partial_plan(const Plan& plan, const RunningPlan& now, std::int64_t most,
                                     std::int64_t& evaluations, const std::function<bool()>& stop) {
  std::optional<CellPlan> best;
  double least = 0;
  // Beyond the limit, bytes below it are of no use; but another way there may be cheaper.
  for (const bool down_to_limit : {true, false}) {
    Reverting reverting(now, most, evaluations, stop);
    reverting.start(plan);
    std::int64_t beyond = 0;
    do {
      beyond = reverting.moved_bytes() - now.limit.bytes;
      if (beyond > 0 || !reverting.fits()) continue;
      if (best && reverting.cost_ms() >= least) continue;
      best = reverting.plan();
      least = reverting.cost_ms();
    } while (reverting.revert_one(down_to_limit && beyond > 0 ? beyond : kAll));
  }
  return best;
}

}  // namespace neuroshard::search
