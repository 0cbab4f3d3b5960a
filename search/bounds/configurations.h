#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "search/bounds/covering_lp.h"
#include "search/bounds/device_knapsack.h"
#include "search/bounds/table_holdings.h"

namespace neuroshard::search {

/// The configuration linear program of configuration_bound.h, at one cost of a plan after another.
/// Not thread-safe.
class Configurations {
 public:
  /// To be covered by so many devices, with about `most_work` steps in all.
  Configurations(double devices, double most_work) : devices_(devices), most_work_(most_work) {}

  /// Tables with costs above 0 for every piece.
  void add(TableHoldings table) { tables_.push_back(std::move(table)); }
  /// What costs all devices so much together, in any shares.
  void add_sand(double cost) { sand_ += cost; }
  [[nodiscard]] bool has_time() const { return work_ < most_work_; }

  /// Whether it is proven that no plan costs `most` or less.
  bool refuted(double most);

  /// After a refutation: how many more devices, a share, the patterns found would take.
  [[nodiscard]] double lacking() const { return lacking_; }

 private:
  /// What a device holds: a kind of table and one of its holdings, each.
  struct Pattern {
    std::vector<std::pair<std::size_t, std::size_t>> held;
    double cost = 0;
  };

  [[nodiscard]] CoveringLp patterns_so_far() const;
  [[nodiscard]] CoveringLp::Column column_of(const Pattern& pattern) const;
  [[nodiscard]] double worth_of(const Pattern& pattern, const std::vector<double>& prices) const;
  void set_centre();
  [[nodiscard]] std::vector<double> between(std::vector<double> prices, double weight) const;
  void keep_as_centre(const std::vector<double>& prices, double all, double most);
  void set_classes(const std::vector<double>& prices);
  bool proven_by(const std::vector<double>& prices, std::size_t slots);
  [[nodiscard]] Pattern pattern_of(const std::vector<int>& chosen) const;

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

}  // namespace neuroshard::search
