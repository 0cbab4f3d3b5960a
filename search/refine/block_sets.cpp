#include "search/refine/block_sets.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "search/bounds/piece_costs.h"
#include "search/piece_sizes.h"
#include "search/refine/fast_row_plan.h"
#include "search/refine/packed_plan.h"

namespace neuroshard::search {
namespace {

constexpr std::size_t kMostSets = 6;      // that become plans
constexpr std::size_t kMostLarge = 12;    // tables, whose sets are all looked at
constexpr std::int64_t kLargeShare = 16;  // of a device's memory, an n-th, or more
constexpr int kBisections = 12;           // of the cost
// Each some milliseconds: of all tables, widths and pairs of them, and choices looked at. With more
// widths or tables there are no such plans.
constexpr double kMostPieces = 20'000;
constexpr double kMostDivisions = 2e6;
constexpr std::size_t kMostChoices = 2'000'000;

/// What there is to choose of one table.
struct TableChoice {
  std::int32_t table = 0;
  std::int64_t bytes = 0;         // whole
  std::int64_t grain_bytes = 0;   // of 4 columns
  std::int64_t block_bytes = 0;   // of one device's block
  double block = kNever;          // cost of that
  std::vector<double> pieces{};   // [k]: cost of the widest piece of 4 k columns or less
  std::vector<double> columns{};  // [k]: of all devices, in the cheapest such pieces

  /// Of all devices, in pieces of columns that take no more room and cost no more.
  [[nodiscard]] double columns_within(std::int64_t room, double cost) const {
    std::int64_t widest = std::ssize(columns) - 1;
    if (bytes > room && grain_bytes > 0)
      widest = std::clamp<std::int64_t>(room / grain_bytes, 0, widest);
    auto k = static_cast<std::size_t>(widest);
    while (k > 0 && pieces[k] > cost) --k;
    return columns[k];
  }
};

/// Piece by piece, the wider ones added to what the narrower ones make. The odd columns of a table
/// are with one of its pieces.
void set_columns(const ColumnCosts& costs, TableChoice& choice) {
  const std::size_t grains = costs.grains();
  const std::size_t widths = grains + 1 + (costs.ragged.empty() ? 0 : 1);
  choice.pieces.assign(widths, kNever);
  choice.columns.assign(widths, kNever);
  std::vector<double> least(grains + 1, kNever);  // of so many grains without odd columns
  least[0] = 0;
  for (std::size_t k = 1; k < widths; ++k) {
    for (std::size_t all = k; all <= grains; ++all) {
      least[all] = std::min(least[all], costs.even[k] + least[all - k]);
    }
    if (k <= grains) choice.pieces[k] = costs.even[k];
    if (costs.ragged.empty()) {
      choice.columns[k] = least[grains];
      continue;
    }
    choice.pieces[k] = costs.ragged[k - 1];
    for (std::size_t j = 0; j < k; ++j) {
      choice.columns[k] = std::min(choice.columns[k], costs.ragged[j] + least[grains - j]);
    }
  }
}

TableChoice choice_of(std::int32_t table, const Problem& problem, PlanEvaluator& evaluator,
                      const ShapeCatalog& catalog) {
  const SearchSpace& space = problem.space;
  const Table& own = *space.of(table).table;
  TableChoice choice{table, space.whole_bytes(table)};
  choice.grain_bytes = space.bytes(space.shape(table, own.rows, std::min(own.dim, kLeastColumns)));
  const bool blocks = catalog.block(table) != kNoEntry;
  const RowShapes rows{.blocks = blocks ? problem.cluster.devices : 0};
  const PieceCosts costs = piece_costs(problem, table, evaluator, rows, true);
  if (std::isfinite(costs.blocks)) {
    const std::int64_t block = even_block(space.of(table), rows.blocks);
    choice.block = costs.blocks / problem.cluster.devices;
    choice.block_bytes = space.bytes(space.shape(table, block, own.dim, rows.blocks));
  }
  set_columns(costs.columns, choice);
  return choice;
}

/// Tables in blocks, and what a plan with them costs at least, about.
struct BlockSet {
  double cost = kNever;
  std::vector<std::int32_t> tables{};
};

class BlockSets {
 public:
  BlockSets(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog,
            const StopCheck& stop)
      : devices_(problem.cluster.devices), memory_(problem.cluster.memory_bytes) {
    for (std::int32_t table = 0; table < catalog.tables(); ++table) {
      if (stop.stop()) return;
      choices_.push_back(choice_of(table, problem, evaluator, catalog));
    }
    std::stable_sort(choices_.begin(), choices_.end(),
                     [](const TableChoice& a, const TableChoice& b) { return a.bytes > b.bytes; });
    chosen_.resize(choices_.size());
    while (large_ < std::min(choices_.size(), kMostLarge) &&
           choices_[large_].bytes >= memory_ / kLargeShare) {
      ++large_;
    }
  }

  /// The cheapest first.
  std::vector<BlockSet> below(double most_cost, const StopCheck& stop) {
    most_cost = std::min(most_cost, cost_of_all());
    std::vector<BlockSet> sets;
    for (std::size_t set = 0; set < std::size_t{1} << large_; ++set) {
      if (stop.stop() || looked_at_ > kMostChoices) break;
      const double most = sets.size() < kMostSets ? most_cost : sets.back().cost;
      BlockSet found = cheapest_with(set, most);
      if (!(found.cost < most)) continue;
      if (sets.size() == kMostSets) sets.pop_back();
      const auto place =
          std::upper_bound(sets.begin(), sets.end(), found,
                           [](const BlockSet& a, const BlockSet& b) { return a.cost < b.cost; });
      sets.insert(place, std::move(found));
    }
    return sets;
  }

 private:
  [[nodiscard]] double cost_of_all() const;
  BlockSet cheapest_with(std::size_t set, double most_cost);
  bool may_cost(std::size_t set, double cost);
  [[nodiscard]] std::size_t table_for_blocks(std::int64_t room, double cost);
  [[nodiscard]] bool others_fit(std::int64_t room, double cost);

  const double devices_;
  const std::int64_t memory_;
  std::vector<TableChoice> choices_;  // the largest first
  std::size_t large_ = 0;             // so many, each a bit of a set
  std::vector<char> chosen_;          // [choices] to be in blocks
  std::size_t looked_at_ = 0;         // choices
};

/// No plan costs as much as all tables on one device.
double BlockSets::cost_of_all() const {
  double sum = 0;
  for (const TableChoice& own : choices_) {
    for (const double cost : {own.columns.back(), devices_ * own.block}) {
      if (std::isfinite(cost)) sum += cost;
    }
  }
  return sum;
}

/// Nothing where the set costs no less than that.
BlockSet BlockSets::cheapest_with(std::size_t set, double most_cost) {
  BlockSet found;
  if (!may_cost(set, most_cost)) return found;
  double low = 0;
  double high = most_cost;
  for (int step = 0; step < kBisections; ++step) {
    const double middle = (low + high) / 2;
    if (!may_cost(set, middle)) {
      low = middle;
      continue;
    }
    found.cost = high = middle;
    found.tables.clear();
    for (std::size_t k = 0; k < choices_.size(); ++k) {
      if (chosen_[k] != 0) found.tables.push_back(choices_[k].table);
    }
  }
  return found;
}

/// Whether the mean of the devices costs no more with those large tables in blocks and no others.
bool BlockSets::may_cost(std::size_t set, double cost) {
  std::int64_t room = memory_;
  std::fill(chosen_.begin(), chosen_.end(), 0);
  const auto choose = [&](std::size_t k) {
    chosen_[k] = 1;
    room -= choices_[k].block_bytes;
    cost -= choices_[k].block;
  };
  for (std::size_t k = 0; k < large_; ++k) {
    if ((set >> k & 1) != 0) choose(k);
  }
  while (room >= 0 && cost >= 0) {
    const std::size_t next = table_for_blocks(room, cost);
    if (next == choices_.size()) return others_fit(room, cost);
    choose(next);
  }
  return false;
}

/// The small table that gains most; none: as many as there are.
std::size_t BlockSets::table_for_blocks(std::int64_t room, double cost) {
  looked_at_ += choices_.size();
  double most = 0;
  std::size_t best = choices_.size();
  for (std::size_t k = large_; k < choices_.size(); ++k) {
    if (chosen_[k] != 0 || !std::isfinite(choices_[k].block)) continue;
    const double gain = choices_[k].columns_within(room, cost) - devices_ * choices_[k].block;
    if (gain <= most) continue;
    most = gain;
    best = k;
  }
  return best;
}

bool BlockSets::others_fit(std::int64_t room, double cost) {
  looked_at_ += choices_.size();
  double ms = 0;
  double bytes = 0;
  for (std::size_t k = 0; k < choices_.size(); ++k) {
    if (chosen_[k] != 0) continue;
    ms += choices_[k].columns_within(room, cost);
    bytes += static_cast<double>(choices_[k].bytes);
  }
  return ms <= devices_ * cost && bytes <= devices_ * static_cast<double>(room);
}

bool takes_long(const Problem& problem) {
  const RowShapes rows{.blocks = problem.cluster.devices};
  double pieces = 0;
  double divisions = 0;
  for (const Table& table : problem.workload.tables) {
    const double own = pieces_of(table, rows);
    pieces += own;
    divisions += own * own;
  }
  return pieces > kMostPieces || divisions > kMostDivisions;
}

}  // namespace

std::vector<FastPlan> plans_in_block_sets(const Problem& problem, PlanEvaluator& evaluator,
                                          const ShapeCatalog& catalog, const StopCheck& stop,
                                          double most_cost, std::int64_t budget) {
  std::vector<FastPlan> plans;
  if (takes_long(problem)) return plans;
  const auto add = [&](std::optional<FastPlan> plan) {
    if (!plan) return;
    budget -= plan->evaluations;
    plans.push_back(*std::move(plan));
  };
  for (const BlockSet& set : BlockSets(problem, evaluator, catalog, stop).below(most_cost, stop)) {
    if (stop.stop() || budget <= 0) break;
    const std::vector<Division> divisions = divisions_of(catalog, set.tables, Division::kBlocks);
    add(fast_plan(problem, evaluator, catalog, stop, divisions, budget));
    if (budget <= 0) break;
    add(packed_beside(set.tables, problem, evaluator, catalog, stop, budget));
  }
  return plans;
}

}  // namespace neuroshard::search
