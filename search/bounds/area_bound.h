#pragma once

#include <cstdint>
#include <vector>

#include "search/bounds/piece_costs.h"

namespace neuroshard::search {

/// What is sure of a plan because its devices have so much time together: a plan of cost T has no
/// piece dearer than T, so each table is divided into such pieces, at best the cheapest way, and
/// all devices together have room for N x T. Not thread-safe.
class AreaBound {
 public:
  /// Asks for the cost of every piece of every table. The problem outlives it.
  AreaBound(const Problem& problem, PlanEvaluator& evaluator, const RowShapes& rows,
            bool within_memory);

  /// The least T for which that adds up, but for rounding; kNever where a table has no pieces.
  double find();

  /// What each table costs all devices together, at least, divided in any way.
  [[nodiscard]] const std::vector<double>& table_costs() const { return least_costs_; }

 private:
  struct Heavy {
    PieceCosts pieces;
    double least = 0;  ///< divided in any way
  };

  /// Of all tables, in pieces of at most `most`, which is no less than the bound so far.
  double total(double most);
  void gather_heavy(double most);

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const RowShapes rows_;
  const bool within_memory_;
  std::size_t widest_;               // table that is divided in every way
  std::vector<double> least_costs_;  // [tables]
  std::vector<double> dearest_;      // [tables], of their pieces
  double sum_ = 0;                   // of least_costs_
  std::vector<Heavy> heavy_;         // tables with pieces above the bound
  double work_ = 0;                  // to divide those
  std::vector<double> least_;
};

}  // namespace neuroshard::search
