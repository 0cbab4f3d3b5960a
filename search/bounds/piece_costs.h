#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "search/problem.h"
#include "search/row_shapes.h"

// What the pieces cost that a table may be divided into, where costs add up.

namespace neuroshard::search {

/// What cannot be.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// Costs of pieces of a table by their columns, milliseconds; kNever of those that there are none
/// of. Pieces have a multiple of 4 columns, but for one, which has the table's odd ones, too.
struct ColumnCosts {
  std::vector<double> even;    // [k]: of 4 k columns, 0 of none; empty: there are no such pieces
  std::vector<double> ragged;  // [k]: of 4 k columns and the odd ones; empty: it has none

  [[nodiscard]] bool none() const { return even.empty(); }
  /// Of a table in multiples of 4 columns, without the odd ones.
  [[nodiscard]] std::size_t grains() const { return even.size() - 1; }
  friend auto operator<=>(const ColumnCosts&, const ColumnCosts&) = default;
};

/// The same of all layouts of a table.
struct PieceCosts {
  ColumnCosts columns;      ///< with all rows
  ColumnCosts on_host;      ///< blocks of rows over a host's devices, each
  double blocks = kNever;   ///< in even blocks of rows over all devices, together
  double block = kNever;    ///< the cheapest of those
  double dearest = kNever;  ///< and the dearest
  double replica = kNever;  ///< whole on every device, on each

  /// The dearest piece that there is, 0 where there is none.
  [[nodiscard]] double most() const;
  friend auto operator<=>(const PieceCosts&, const PieceCosts&) = default;
};

/// Those of one table; where `within_memory`, only pieces that fit a device. `on_host` are for
/// rows.host devices a host. REQUIRES evaluator.additive().
PieceCosts piece_costs(const Problem& problem, std::int32_t table, PlanEvaluator& evaluator,
                       const RowShapes& rows, bool within_memory);

/// Pieces that piece_costs() would ask the cost of, about.
double pieces_of(const Table& table, const RowShapes& rows);

/// The widest table, in grains, that is divided in every way to find the best one: that takes half
/// a million steps.
inline constexpr std::size_t kWidestDivided = 1024;

/// What a division of a table adds up to at least, where a piece of k columns counts even[k] or
/// ragged[k], and only pieces that cost at most `most` are there. Of tables of more than `widest`
/// grains something less, which is found in one step a grain. `least` is working memory.
double least_division(const ColumnCosts& worth, const ColumnCosts& costs, double most,
                      std::vector<double>& least, std::size_t widest = kWidestDivided);

/// Steps that takes, about.
double division_steps(const ColumnCosts& costs, std::size_t widest = kWidestDivided);

/// The least that the table costs all devices together, in pieces of at most `most` each.
double cheapest_division(const PieceCosts& costs, const RowShapes& rows, double most,
                         std::vector<double>& least, std::size_t widest = kWidestDivided);

}  // namespace neuroshard::search
