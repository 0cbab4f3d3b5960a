#include "search/bounds/configurations.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace neuroshard::search {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kTolerance = 3e-4;  // of knapsacks
// Of knapsacks: quick ones first, for as long as they find patterns that gain something. For
// DLRM-DCNv2 on 8 devices, first steps of 0.1 %, 5e7 steps in all, slots of 64 and 4096 gave a
// bound of 3.839 ms, 128 and 8192 one of 3.848, and without the last 3.827 with twice as many
// steps.
constexpr std::array<std::size_t, 3> kSlots{0, 128, 8192};
constexpr double kEasyGain = 1e-3;
constexpr double kGain = 1e-7;
// Of the centre beside the prices of the linear program, and the least before none.
constexpr double kCentreWeight = 0.8;
constexpr double kLeastWeight = 0.1;

}  // namespace

bool Configurations::refuted(double most) {
  most_ = most;
  for (TableHoldings& table : tables_) {
    table.limit(most * (1 + kRounding));
    if (!std::isfinite(table.needs()[kCosts])) return true;  // it has no pieces that cheap
  }
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

CoveringLp Configurations::patterns_so_far() const {
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

CoveringLp::Column Configurations::column_of(const Pattern& pattern) const {
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

double Configurations::worth_of(const Pattern& pattern, const std::vector<double>& prices) const {
  double sum = 0;
  for (const auto& [row, value] : column_of(pattern)) {
    sum += prices[static_cast<std::size_t>(row)] * value;
  }
  return sum;
}

/// The prices that say what the area bound says: a millisecond is worth as much of a device.
void Configurations::set_centre() {
  centre_.assign(tables_.size() * kTableRows + (sand_ > 0 ? 1 : 0), 0);
  for (std::size_t index = 0; index < tables_.size(); ++index) {
    centre_[index * kTableRows + kCosts] = 1 / most_;
  }
  if (sand_ > 0) centre_.back() = 1 / most_;
  centre_ratio_ = 0;
}

/// Prices of the linear program jump about until it has most patterns that count. So they are
/// drawn towards those that have proven most so far.
std::vector<double> Configurations::between(std::vector<double> prices, double weight) const {
  for (std::size_t row = 0; row < prices.size(); ++row) {
    prices[row] = weight * centre_[row] + (1 - weight) * prices[row];
  }
  return prices;
}

void Configurations::keep_as_centre(const std::vector<double>& prices, double all, double most) {
  if (all <= centre_ratio_ * most) return;
  centre_ratio_ = all / most;
  centre_ = prices;
  for (double& price : centre_) price /= most;
}

/// One class for each table that fits beside the others of its kind.
void Configurations::set_classes(const std::vector<double>& prices) {
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
bool Configurations::proven_by(const std::vector<double>& prices, std::size_t slots) {
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

Configurations::Pattern Configurations::pattern_of(const std::vector<int>& chosen) const {
  Pattern pattern;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    if (chosen[k] < 0) continue;
    const KnapsackItem& item = classes_[k][static_cast<std::size_t>(chosen[k])];
    pattern.held.emplace_back(class_of_[k], static_cast<std::size_t>(item.id));
    pattern.cost += item.weight;
  }
  return pattern;
}

}  // namespace neuroshard::search
