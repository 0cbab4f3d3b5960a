#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace neuroshard::search {

/// The least number of devices, in fractions, whose patterns together cover what is asked for:
/// min sum x_p with sum a_rp x_p >= b_r for each row r, x >= 0, patterns being added as they are
/// found. A revised primal simplex with the inverse of the basis, for some hundred rows. What it
/// says is as good as floating-point numbers make it: who needs proof takes prices() and checks
/// what follows from them. Not thread-safe.
class CoveringLp {
 public:
  using Column = std::vector<std::pair<int, double>>;  ///< row, a_rp > 0

  /// `needs` is b, above 0. To begin with, each row is covered alone, at what `alone`
  /// says for all of it, which should be more than patterns would take.
  CoveringLp(std::vector<double> needs, std::vector<double> alone);

  void add(Column column);
  /// Optimal for the patterns so far, or as near as a bounded number of steps leads.
  void solve();

  [[nodiscard]] double value() const { return value_; }
  /// [rows]: what a unit of each row is worth, at least 0.
  [[nodiscard]] const std::vector<double>& prices() const { return prices_; }
  /// Whether patterns alone cover all rows.
  [[nodiscard]] bool covered() const;
  [[nodiscard]] std::size_t rows() const { return needs_.size(); }
  /// Multiplications so far.
  [[nodiscard]] double work() const { return work_; }

 private:
  [[nodiscard]] int column_to_enter() const;
  bool enter(int column);
  void set_prices();
  [[nodiscard]] double cost_of(int column) const;
  void load(int column, std::vector<double>& into) const;

  // Columns are numbered: rows 0.. alone, then rows 0.. beyond their needs, then patterns.
  std::vector<double> needs_;
  std::vector<double> alone_;
  std::vector<Column> patterns_;
  std::vector<int> basis_;       // [rows]
  std::vector<char> is_basic_;   // [columns]
  std::vector<double> inverse_;  // [rows, rows]
  std::vector<double> levels_;   // [rows], of the basis
  std::vector<double> raw_prices_;
  std::vector<double> prices_;
  std::vector<double> entering_;
  std::vector<double> change_;
  double value_ = 0;
  double work_ = 0;
};

}  // namespace neuroshard::search
