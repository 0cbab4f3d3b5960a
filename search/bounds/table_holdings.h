#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "search/bounds/piece_costs.h"

// What a device may hold of a table, and what that counts in the configuration linear program.

namespace neuroshard::search {

/// What is asked of the patterns for each table. Every division of a table adds up to its needs in
/// each of these, whatever it is; together they say nearly all that there is to say of divisions.
enum TableRow { kCells, kCosts, kPieces, kTableRows };

/// Something that one device may hold of a table.
struct Holding {
  double cost = 0;  ///< milliseconds, at least
  std::array<double, kTableRows> counts{};
};

/// The holdings of one table, or of several that are alike in costs. A value.
class TableHoldings {
 public:
  /// `devices` in all.
  TableHoldings(PieceCosts costs, double alike, const RowShapes& rows, double devices);

  /// Limits them to those that cost at most `most`, and sets what is needed so.
  void limit(double most);

  [[nodiscard]] double alike() const { return alike_; }
  /// All, those above the limit among them: their places stay the same.
  [[nodiscard]] const std::vector<Holding>& all() const { return holdings_; }
  /// What one such table needs in each row, above 0.
  [[nodiscard]] const std::array<double, kTableRows>& needs() const { return needs_; }
  /// What a holding is worth at these prices.
  [[nodiscard]] static double worth(const Holding& holding, const double* prices);
  /// What the pieces of one table are worth together at least, however it is divided.
  double least_worth(const double* prices);

 private:
  [[nodiscard]] double least_of(TableRow row);
  template <typename Worth>
  double least_of_divisions(Worth worth);
  void add(const ColumnCosts& costs, double of_devices);
  void set_piece_counts(double fewest);

  PieceCosts costs_;  // of columns, what a device holds, in as many pieces as is cheapest
  double alike_;
  double devices_;
  double of_host_;
  double most_ = kNever;
  std::vector<Holding> holdings_;  // even, ragged; those on hosts; a block, a replica if there are
  std::size_t blocks_at_ = 0;      // of the last two, where they are
  std::array<double, kTableRows> needs_{};
  ColumnCosts own_worth_;
  ColumnCosts host_worth_;
  std::vector<double> least_;
};

}  // namespace neuroshard::search
