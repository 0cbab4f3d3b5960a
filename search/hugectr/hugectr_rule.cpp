#include "search/hugectr/hugectr_rule.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace neuroshard::search {
namespace {

constexpr int kRounds = 20;

class Rounds {
 public:
  Rounds(std::span<const RuledTable> tables, const RuledGroups& groups, ColumnPrice price)
      : tables_(tables), groups_(groups), price_(price), parts_(tables.size(), 1) {
    order_.resize(tables.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    sort();
  }

  /// Every table over all groups, if that fits.
  bool over_all() {
    double cost = 0;
    double bytes = 0;
    best_.assign(tables_.size(),
                 std::vector<std::int32_t>(static_cast<std::size_t>(groups_.groups)));
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      std::iota(best_[table].begin(), best_[table].end(), 0);
      cost += part_cost(table, groups_.groups);
      bytes += static_cast<double>(tables_[table].bytes) / groups_.groups;
    }
    best_cost_ = cost;
    return bytes <= groups_.memory_bytes;
  }

  void run() {
    for (int round = 0; round < (groups_.divides_rows ? kRounds : 1); ++round) {
      if (const std::optional<std::size_t> unplaced = place()) {
        if (!may_be_halved(*unplaced)) return;
        halve(*unplaced);
        continue;
      }
      const double cost = *std::max_element(costs_.begin(), costs_.end());
      if (best_.empty() || cost < best_cost_) {
        best_cost_ = cost;
        best_ = placed_;
      }
      const auto largest = std::find_if(order_.begin(), order_.end(),
                                        [&](std::size_t table) { return may_be_halved(table); });
      if (largest == order_.end()) return;
      halve(*largest);
    }
  }

  /// Empty: there is none.
  RuledPlan take() {
    const std::vector<std::int32_t> places = places_of_groups();
    for (std::vector<std::int32_t>& groups : best_) {
      for (std::int32_t& group : groups) group = places[static_cast<std::size_t>(group)];
      std::sort(groups.begin(), groups.end());
    }
    return std::move(best_);
  }

 private:
  /// Groups are alike: those that share the tables of most parts come first, so that the parts of
  /// such tables are on groups that follow each other.
  [[nodiscard]] std::vector<std::int32_t> places_of_groups() const {
    const auto count = static_cast<std::size_t>(groups_.groups);
    std::vector<std::size_t> tables(best_.size());
    std::iota(tables.begin(), tables.end(), std::size_t{0});
    std::stable_sort(tables.begin(), tables.end(), [&](std::size_t a, std::size_t b) {
      return best_[a].size() > best_[b].size();
    });
    std::vector<std::vector<std::size_t>> ranks(count);
    for (std::size_t rank = 0; rank < tables.size(); ++rank) {
      for (const std::int32_t group : best_[tables[rank]]) {
        ranks[static_cast<std::size_t>(group)].push_back(rank);
      }
    }
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (ranks[a].empty() || ranks[b].empty()) return ranks[a].size() > ranks[b].size();
      return ranks[a] < ranks[b];
    });
    std::vector<std::int32_t> places(count);
    for (std::size_t place = 0; place < count; ++place) {
      places[order[place]] = static_cast<std::int32_t>(place);
    }
    return places;
  }

  [[nodiscard]] double part_cost(std::size_t table, std::int32_t parts) const {
    return tables_[table].work / parts + price_ * tables_[table].columns;
  }

  /// As the original sorts: ascending, then turned round, so that equal parts change places.
  void sort() {
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return tables_[a].work / parts_[a] < tables_[b].work / parts_[b];
    });
    std::reverse(order_.begin(), order_.end());
  }

  /// The first table with a part that fits nowhere.
  std::optional<std::size_t> place() {
    const auto groups = static_cast<std::size_t>(groups_.groups);
    placed_.assign(tables_.size(), {});
    costs_.assign(groups, 0);
    std::vector<double> bytes(groups);
    std::vector<std::size_t> cheapest(groups);
    for (const std::size_t table : order_) {
      const double part_bytes = static_cast<double>(tables_[table].bytes) / parts_[table];
      std::vector<std::int32_t>& own = placed_[table];
      std::iota(cheapest.begin(), cheapest.end(), std::size_t{0});
      std::stable_sort(cheapest.begin(), cheapest.end(),
                       [&](std::size_t a, std::size_t b) { return costs_[a] < costs_[b]; });
      const auto group = std::find_if(cheapest.begin(), cheapest.end(), [&](std::size_t one) {
        return bytes[one] + part_bytes <= groups_.memory_bytes &&
               std::find(own.begin(), own.end(), static_cast<std::int32_t>(one)) == own.end();
      });
      if (group == cheapest.end()) return table;
      own.push_back(static_cast<std::int32_t>(*group));
      costs_[*group] += part_cost(table, parts_[table]);
      bytes[*group] += part_bytes;
    }
    return {};
  }

  [[nodiscard]] bool may_be_halved(std::size_t table) const {
    return groups_.divides_rows && parts_[table] <= groups_.groups / 2;
  }

  void halve(std::size_t table) {
    parts_[table] *= 2;
    std::erase(order_, table);
    order_.insert(order_.end(), static_cast<std::size_t>(parts_[table]), table);
    sort();
  }

  std::span<const RuledTable> tables_;
  const RuledGroups groups_;
  const ColumnPrice price_;
  std::vector<std::int32_t> parts_;  ///< [table]
  std::vector<std::size_t> order_;   ///< the table of each part, the most work first
  RuledPlan placed_;                 ///< of this round
  std::vector<double> costs_;        ///< [group]
  RuledPlan best_;
  double best_cost_ = 0;
};

}  // namespace

std::optional<RuledPlan> hugectr_rule(std::span<const RuledTable> tables, const RuledGroups& groups,
                                      ColumnPrice price) {
  if (tables.empty()) return RuledPlan{};
  Rounds rounds(tables, groups, price);
  if (groups.divides_rows && !rounds.over_all()) return {};
  rounds.run();
  RuledPlan plan = rounds.take();
  if (plan.empty()) return {};
  return plan;
}

}  // namespace neuroshard::search
