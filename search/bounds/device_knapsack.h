#pragma once

#include <cstddef>
#include <vector>

namespace neuroshard::search {

/// One of the ways in which a device may hold something of a table.
struct KnapsackItem {
  double weight = 0;
  double value = 0;
  int id = 0;  ///< whatever the caller knows it by
};

/// What a device holds of one table: one of the items, or nothing.
using KnapsackClass = std::vector<KnapsackItem>;

struct KnapsackFound {
  double value = 0;         ///< of the best choice found, with what fills the rest
  std::vector<int> chosen;  ///< [classes]: an item's place in its class, or -1
  double most = 0;          ///< no choice is worth more
  std::size_t steps = 0;    ///< states looked at, for whoever counts work
};

/// How to look for the most valuable choice.
struct KnapsackOptions {
  double filler = 0;     ///< what is left of the capacity is worth this a unit of weight
  double tolerance = 0;  ///< a share: choices no better than that do not count as better
  double enough = 0;     ///< nor do those that are worth no more than this
  /// Parts of the capacity in each of which one state stands for all: the more, the nearer are what
  /// is found and `most`, and the longer it takes. 0: by the linear relaxation alone.
  std::size_t slots = 1024;
};

/// The most valuable choice of one item at most of each class that weighs no more than `capacity`.
/// Items have weights above 0 and values of at least 0.
///
/// Goes from class to class with the states that none other is better than, and that may, by the
/// linear relaxation, still become better than the best choice so far. Where there would be too
/// many, some are taken together as one that is better than each: `most` stays true, and the choice
/// may fall short of it. Thread-safe.
KnapsackFound solve_knapsack(const std::vector<KnapsackClass>& classes, double capacity,
                             const KnapsackOptions& options);

}  // namespace neuroshard::search
