#pragma once

#include <optional>
#include <vector>

#include "search/problem.h"
#include "search/row_shapes.h"

namespace neuroshard::search {

/// Milliseconds that no plan of whole and column-split tables, and of even blocks of rows over all
/// devices or those of a host and of replicas where `rows` have them, can be cheaper than, whatever
/// memory there is: where a device costs the sum of its shards (PlanEvaluator::additive()), a plan
/// of cost T has no shard dearer than T, so each table is divided into such shards, at best the
/// cheapest way, and all devices together have room for N x T. The least T for which that adds up.
/// Nothing where costs are not additive, where rows may be halved, or where tables are so many and
/// so wide that it would take more than a tenth of a second. Interns shapes: every multiple of 4
/// columns of every table.
std::optional<double> lower_bound(const Problem& problem, PlanEvaluator& evaluator,
                                  const RowShapes& rows = {});

/// What the shards of each table cost together, at least, however it is divided so; as
/// lower_bound(), nothing where that would take long.
std::optional<std::vector<double>> least_table_costs(const Problem& problem,
                                                     PlanEvaluator& evaluator,
                                                     const RowShapes& rows);

}  // namespace neuroshard::search
