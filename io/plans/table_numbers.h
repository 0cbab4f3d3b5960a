#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/core/table.h"
#include "io/plans/plan_document.h"

// A plan counts its tables, and a workload counts its own: where the plan names them, what it says
// of a table goes to the one of that name.

namespace neuroshard::io {

/// What becomes of tables of a plan that are not among the tables given.
enum class UnknownTables {
  kFault,    ///< each is a fault
  kRenamed,  ///< they were renamed, if as many tables are at their places but for them; else faults
  kDropped,  ///< they are left out, where the plan has others
};

/// What there is to say of a plan that is put in the terms of a workload, a line each.
struct NumberedTables {
  std::vector<std::string> faults;  ///< what makes it no plan of these tables
  std::vector<std::string> notes;
  std::vector<std::size_t> kept;  ///< what places its shards had, where some were left out
};

/// Has the document count its tables as the workload does, by the names that it gives them, and
/// name them so; without names to go by, on either side, in their order. Shards of unknown tables
/// are left out; tables that the plan lacks have no module.
NumberedTables number_by_names(const Workload& workload, UnknownTables unknown,
                               PlanDocument& document);

/// Tells of the tables called `names`, which the workload lacks, of a plan that has `known` others.
void tell_unknown(const std::vector<std::string>& names, std::size_t known, UnknownTables unknown,
                  NumberedTables& told);

}  // namespace neuroshard::io
