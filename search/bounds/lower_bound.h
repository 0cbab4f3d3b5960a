#pragma once

#include <optional>
#include <vector>

#include "search/problem.h"
#include "search/row_shapes.h"

namespace neuroshard::search {

/// How much is done for a bound, in steps, not in time: it is the same on every machine. On a core
/// of an Intel Xeon virtual machine, DLRM-DCNv2 on 8 devices takes less than a millisecond, 40 and
/// 200 ms, and the bound is 2.9, 2.0 and 0.9 % below the best plan known.
enum class BoundEffort {
  kArea,   ///< AreaBound alone: a pass over all pieces
  kQuick,  ///< configuration_bound(), too, with what is small beside a second
  kFull,   ///< the same, until more work is of little use
};

struct BoundOptions {
  BoundEffort effort = BoundEffort::kFull;
  /// Whether it is of plans that fit the devices; if not, of those for any memory.
  bool within_memory = true;
};

/// Milliseconds that no plan can be cheaper than whose tables are whole, in columns of any widths
/// that are multiples of 4, and, where `rows` have them, in even blocks of rows over all devices or
/// those of a host, or whole on every device: where a device costs the sum of its shards
/// (PlanEvaluator::additive()). A table's odd columns are with one of its pieces. Which devices a
/// table may be on is left out of account.
///
/// Nothing where costs are not additive, where rows may be halved, or where tables have more than
/// some millions of pieces; 0 where a table has no piece that fits.
std::optional<double> lower_bound(const Problem& problem, PlanEvaluator& evaluator,
                                  const RowShapes& rows = {}, const BoundOptions& options = {});

/// What the shards of each table cost together, at least, however it is divided so, whatever memory
/// there is; as lower_bound(), nothing where that would take long.
std::optional<std::vector<double>> least_table_costs(const Problem& problem,
                                                     PlanEvaluator& evaluator,
                                                     const RowShapes& rows);

}  // namespace neuroshard::search
