#include "search/bounds/configuration_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "search/bounds/covering_lp.h"
#include "search/bounds/device_knapsack.h"
#include "search/bounds/piece_costs.h"
#include "search/bounds/table_holdings.h"

namespace neuroshard::search {
namespace {

constexpr std::size_t kMostApart = 64;     // kinds of tables that are told apart
constexpr std::size_t kMostClasses = 300;  // of knapsacks: such tables, as often as they fit
constexpr std::size_t kMostGrains = 256;   // of a table that is told apart
constexpr double kFirstStep = 1e-2;        // above the bound that is there, a share; then doubled
constexpr double kClose = 3e-4;            // of what is refuted and what is not: enough
constexpr double kTolerance = 3e-4;        // of knapsacks
constexpr double kRounding = 1e-9;
constexpr double kMuchSand = 0.5;  // of what all tables cost
// Of knapsacks: quick ones first, for as long as they find patterns that gain something.
constexpr std::array<std::size_t, 3> kSlots{0, 128, 8192};
constexpr double kEasyGain = 1e-3;
constexpr double kGain = 1e-7;
constexpr double kCentreWeight = 0.8;
constexpr double kLeastWeight = 0.1;

/// What a device holds: a kind of table and one of its holdings, each.
struct Pattern {
  std::vector<std::pair<std::size_t, std::size_t>> held;
  double cost = 0;
};

class Configurations {
 public:
  Configurations(double devices, double most_work) : devices_(devices), most_work_(most_work) {}

  void add(TableHoldings table) { tables_.push_back(std::move(table)); }
  void add_sand(double cost) { sand_ += cost; }
  [[nodiscard]] bool empty() const { return tables_.empty(); }
  [[nodiscard]] bool has_time() const { return work_ < most_work_; }

  /// After a refutation: how many more devices, a share, the patterns found would take.
  [[nodiscard]] double lacking() const { return lacking_; }

  /// Whether it is proven that no plan costs `most` or less.
  bool refuted(double most) {
    most_ = most;
    for (TableHoldings& table : tables_) table.limit(most * (1 + kRounding));
    CoveringLp lp = patterns_so_far();
    if (centre_.empty()) set_centre();
    centre_ratio_ = 0;
    double weight = kCentreWeight;  // of the centre
    std::size_t tier = 0;           // of kSlots
    double counted = 0;
    while (has_time()) {
      lp.solve();
      work_ += lp.work() - counted;
      counted = lp.work();
      lacking_ = lp.value() / devices_ - 1;
      if (lp.covered() && lp.value() <= devices_ * (1 + kRounding)) return false;
      if (proven_by(between(lp.prices(), weight), kSlots[tier])) return true;
      if (worth_of(*found_, lp.prices()) > 1 + (tier + 1 < kSlots.size() ? kEasyGain : kGain)) {
        lp.add(column_of(*found_));
        patterns_.push_back(*std::move(found_));
        tier = 0;
      } else if (tier + 1 < kSlots.size()) {
        ++tier;
      } else if (weight > 0) {
        weight = weight > kLeastWeight ? weight / 2 : 0;
        tier = 0;
      } else {
        return false;
      }
    }
    return false;
  }

 private:
  CoveringLp patterns_so_far() {
    std::vector<double> needs;
    std::vector<double> alone;
    for (const TableHoldings& table : tables_) {
      for (const double need : table.needs()) {
        needs.push_back(table.alike() * need);
        alone.push_back(4 * table.alike() * table.needs()[kCosts] / most_ + 0.1);
      }
    }
    if (sand_ > 0) {
      needs.push_back(sand_);
      alone.push_back(4 * sand_ / most_ + 0.1);
    }
    CoveringLp lp(std::move(needs), std::move(alone));
    for (const Pattern& pattern : patterns_) {
      if (pattern.cost <= most_) lp.add(column_of(pattern));
    }
    return lp;
  }

  [[nodiscard]] CoveringLp::Column column_of(const Pattern& pattern) const {
    CoveringLp::Column column;
    for (const auto& [table, holding] : pattern.held) {
      const Holding& own = tables_[table].all()[holding];
      for (std::size_t row = 0; row < kTableRows; ++row) {
        if (own.counts[row] <= 0) continue;
        column.emplace_back(static_cast<int>(table * kTableRows + row), own.counts[row]);
      }
    }
    if (sand_ > 0) {
      column.emplace_back(static_cast<int>(tables_.size() * kTableRows), most_ - pattern.cost);
    }
    return column;
  }

  [[nodiscard]] double worth_of(const Pattern& pattern, const std::vector<double>& prices) const {
    double sum = 0;
    for (const auto& [row, value] : column_of(pattern)) {
      sum += prices[static_cast<std::size_t>(row)] * value;
    }
    return sum;
  }

  /// The prices that say what the area bound says: a millisecond is worth as much of a device.
  void set_centre() {
    centre_.assign(tables_.size() * kTableRows + (sand_ > 0 ? 1 : 0), 0);
    for (std::size_t index = 0; index < tables_.size(); ++index) {
      centre_[index * kTableRows + kCosts] = 1 / most_;
    }
    if (sand_ > 0) centre_.back() = 1 / most_;
    centre_ratio_ = 0;
  }

  /// Prices of the linear program jump about until it has most patterns that count. So they are
  /// drawn towards those that have proven most so far.
  [[nodiscard]] std::vector<double> between(std::vector<double> prices, double weight) const {
    for (std::size_t row = 0; row < prices.size(); ++row) {
      prices[row] = weight * centre_[row] + (1 - weight) * prices[row];
    }
    return prices;
  }

  void keep_as_centre(const std::vector<double>& prices, double all, double most) {
    if (all <= centre_ratio_ * most) return;
    centre_ratio_ = all / most;
    centre_ = prices;
    for (double& price : centre_) price /= most;
  }

  /// One class for each table that fits beside the others of its kind.
  void set_classes(const std::vector<double>& prices) {
    classes_.clear();
    class_of_.clear();
    for (std::size_t index = 0; index < tables_.size(); ++index) {
      const TableHoldings& table = tables_[index];
      KnapsackClass items;
      double least = kNever;
      for (std::size_t k = 0; k < table.all().size(); ++k) {
        const Holding& holding = table.all()[k];
        if (!(holding.cost > 0) || holding.cost > most_) continue;
        const double worth = TableHoldings::worth(holding, &prices[index * kTableRows]);
        if (worth <= 0) continue;
        items.push_back({holding.cost, worth, static_cast<int>(k)});
        least = std::min(least, holding.cost);
      }
      if (items.empty()) continue;
      const double times = std::min(table.alike(), std::floor(most_ / least * (1 + kRounding)));
      for (double copy = 0; copy < times; ++copy) {
        classes_.push_back(items);
        class_of_.push_back(index);
        work_ += 4 * static_cast<double>(items.size());
      }
    }
  }

  /// Whether all tables are worth more at these prices than what so many devices can hold. If not,
  /// found_ is a pattern that is worth much.
  bool proven_by(const std::vector<double>& prices, std::size_t slots) {
    double all = 0;
    for (std::size_t index = 0; index < tables_.size(); ++index) {
      TableHoldings& table = tables_[index];
      all += table.alike() * table.least_worth(&prices[index * kTableRows]);
      work_ += static_cast<double>(table.all().size() * table.all().size()) / 4;
    }
    const double sand_price = sand_ > 0 ? prices.back() : 0;
    all += sand_ * sand_price;
    set_classes(prices);
    const KnapsackFound best = solve_knapsack(classes_, most_,
                                              {.filler = sand_price,
                                               .tolerance = kTolerance,
                                               .enough = all / devices_ * (1 - 2 * kRounding),
                                               .slots = slots});
    work_ += 4 * static_cast<double>(best.steps);
    if (all > devices_ * best.most * (1 + kRounding)) return true;
    keep_as_centre(prices, all, best.most);
    found_ = pattern_of(best.chosen);
    return false;
  }

  [[nodiscard]] Pattern pattern_of(const std::vector<int>& chosen) const {
    Pattern pattern;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      if (chosen[k] < 0) continue;
      const KnapsackItem& item = classes_[k][static_cast<std::size_t>(chosen[k])];
      pattern.held.emplace_back(class_of_[k], static_cast<std::size_t>(item.id));
      pattern.cost += item.weight;
    }
    return pattern;
  }

  const double devices_;
  const double most_work_;
  std::vector<TableHoldings> tables_;
  double sand_ = 0;  // milliseconds
  double most_ = 0;
  std::vector<Pattern> patterns_;
  std::vector<double> centre_;  // prices at which no device can hold more than 1
  double centre_ratio_ = 0;     // devices that those prove to be needed
  std::vector<KnapsackClass> classes_;
  std::vector<std::size_t> class_of_;  // the kind of table
  std::optional<Pattern> found_;
  double lacking_ = 0;
  double work_ = 0;
};

/// Tables in the order of their costs, the costliest first.
std::vector<std::int32_t> by_cost(const std::vector<double>& costs) {
  std::vector<std::int32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return costs[static_cast<std::size_t>(a)] > costs[static_cast<std::size_t>(b)];
  });
  return order;
}

bool too_wide(const Table& table) {
  return static_cast<std::size_t>(table.dim) > kMostGrains * kLeastColumns;
}

}  // namespace

double configuration_bound(const Problem& problem, PlanEvaluator& evaluator, const RowShapes& rows,
                           bool within_memory, const std::vector<double>& table_costs,
                           double area_bound, double most_work) {
  const double devices = problem.cluster.devices;
  Configurations all(devices, most_work);
  double sand = 0;
  std::map<PieceCosts, double> kinds;
  std::size_t classes = 0;
  for (const std::int32_t index : by_cost(table_costs)) {
    const double cost = table_costs[static_cast<std::size_t>(index)];
    const bool apart = kinds.size() < kMostApart && classes < kMostClasses && cost > 0 &&
                       !too_wide(*problem.space.of(index).table);
    if (!apart) {
      all.add_sand(cost);
      sand += cost;
      continue;
    }
    ++kinds[piece_costs(problem, index, evaluator, rows, within_memory)];
    ++classes;
  }
  // Sand fills what pieces leave: of much of it, patterns say no more than the area.
  if (kinds.empty() || sand > kMuchSand * devices * area_bound) return area_bound;
  for (auto& [pieces, count] : kinds) all.add(TableHoldings(pieces, count, rows, devices));
  double low = area_bound;
  double high = kNever;
  double step = kFirstStep;
  while (all.has_time() && !(high < low * (1 + kClose))) {
    const double cost = std::isfinite(high) ? (low + high) / 2 : low * (1 + step);
    if (all.refuted(cost)) {
      low = cost;
      step = std::max(2 * step, all.lacking() / 2);
    } else {
      high = cost;
    }
  }
  return low;
}

}  // namespace neuroshard::search
