#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/row_blocks.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/plans/plan_document.h"
#include "io/plans/plan_input.h"

// Plans of any format in: the engine's own, TorchRec's and HugeCTR's JSON, told apart by their
// keys. Foreign formats know tables by name and little else, so that a plan comes about in two
// steps: parse the file, then bind it to the tables it is for.

namespace neuroshard::io {

/// A plan in the terms of a workload, and what had to be said differently to put it so.
struct BoundPlan {
  PlanDocument document;
  std::vector<std::string> notes;
};

/// Whether a plan has to be one of just these tables, or may be older than they are: shards of
/// tables that have other rows by now get those (fit_rows()), new tables have no shards, and those
/// that are gone, by their names, are left out.
enum class PlanAge { kOfTheseTables, kOlder };

/// The plan of `input` for `workload`. `devices` is the number of devices when the file does not
/// say it, 0 = not given either. One of our own whose tables were renamed, which are as many and at
/// their places but for those, counts them in their order. Errors: kInvalidInput naming the source:
/// a table without a place or a place without a table, an older plan of other tables alone, a
/// number of devices that is unknown or not the file's, a TorchRec compute kernel that the engine
/// cannot cost or write again, a data-parallel table on some of the ranks only, and what validate()
/// refuses. `deal`: as of fit_rows().
Result<BoundPlan> bind_plan(const PlanInput& input, const Workload& workload, std::int32_t devices,
                            PlanAge age = PlanAge::kOfTheseTables, RowDeal deal = RowDeal::kEven);

}  // namespace neuroshard::io
