#pragma once

#include <vector>

#include "search/problem.h"
#include "search/row_shapes.h"

namespace neuroshard::search {

/// A bound that knows that a device holds whole pieces: the configuration linear program. A pattern
/// is what one device may hold with a cost of at most T. Were there a plan of cost T, its devices'
/// patterns would cover every table; so if even fractions of patterns need more than N devices for
/// that, there is none. Patterns are found one by one, each by a knapsack at the prices of the
/// tables' pieces in the linear program so far (column generation); what those prices prove is
/// checked by itself.
///
/// Tables are told apart as far as they count: the costliest are, the rest is one mass that can be
/// spread like sand. Returns the highest T that is refuted, at least `area_bound`, found with about
/// `most_work` steps of a nanosecond or two, and the same on every machine. `table_costs` are
/// AreaBound::table_costs(). REQUIRES additive costs, finite table costs and no halves of rows.
double configuration_bound(const Problem& problem, PlanEvaluator& evaluator, const RowShapes& rows,
                           bool within_memory, const std::vector<double>& table_costs,
                           double area_bound, double most_work);

}  // namespace neuroshard::search
