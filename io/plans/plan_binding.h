#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core/plan_check.h"
#include "io/plans/plan_input.h"
#include "io/plans/table_numbers.h"

// Between parsing a plan file and using it: shared by bind_plan() and lint_plan().

namespace neuroshard::io {

/// A plan file held against tables as far as that goes.
struct PlanPieces {
  PlanDocument document;            ///< shards of all tables that could be found; not validated
  PlanNames names;                  ///< of shards and tables, as the file knows them
  std::vector<std::string> faults;  ///< what could not be held against the tables
  std::vector<std::string> notes;
  std::set<std::int32_t> unusable;  ///< tables without shards because of a fault that is told
  /// How a TorchRec file writes each table; points into the input.
  std::map<std::int32_t, const TorchRecTable*> torchrec;
};

/// `unknown` tables of formats that know tables by their names alone are never taken for renamed
/// ones. Errors: an unknown or wrong number of devices, tables that share a name.
Result<PlanPieces> take_apart(const PlanInput& input, const Workload& workload,
                              std::int32_t devices, UnknownTables unknown);

}  // namespace neuroshard::io
