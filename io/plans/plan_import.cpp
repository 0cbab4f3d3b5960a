#include "io/plans/plan_import.h"

#include <utility>

#include "engine/core/plan_check.h"
#include "io/plans/plan_binding.h"
#include "io/plans/plan_rows.h"
#include "io/plans/plan_tables.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

/// What is so of some tables, "" of none: "table 3 'x' is new", "table 3 'x' and 2 more are new".
std::string of_tables(const Workload& workload, const std::vector<std::int32_t>& tables,
                      const std::string& of_one, const std::string& of_more) {
  if (tables.empty()) return "";
  const std::size_t rest = tables.size() - 1;
  return describe_table(workload, tables.front()) + and_more(rest) + " " +
         (rest == 0 ? of_one : of_more);
}

/// Fits the rows of an older plan, and tells what of the tables it is older than.
void bring_up_to_date(const std::string& source, const Workload& workload, RowDeal deal,
                      PlanPieces& pieces) {
  const std::string rest = " another number of rows than in the plan: shards have the rows of now";
  const auto fitted = fit_rows(workload, pieces.document.plan, deal);
  const auto missing = missing_tables(workload, pieces.document.plan);
  for (const std::string& note : {of_tables(workload, fitted, "has" + rest, "have" + rest),
                                  of_tables(workload, missing, "is not in the plan: it is new",
                                            "are not in the plan: they are new")}) {
    if (!note.empty()) pieces.notes.push_back(source + ": " + note);
  }
}

}  // namespace

Result<BoundPlan> bind_plan(const PlanInput& input, const Workload& workload, std::int32_t devices,
                            PlanAge age, RowDeal deal) {
  const UnknownTables unknown =
      age == PlanAge::kOlder ? UnknownTables::kDropped : UnknownTables::kRenamed;
  NEUROSHARD_ASSIGN_OR_RETURN(PlanPieces pieces, take_apart(input, workload, devices, unknown));
  if (!pieces.faults.empty()) return invalid_input(input.source + ": " + pieces.faults.front());
  Plan checked = pieces.document.plan;
  if (age == PlanAge::kOlder) {
    bring_up_to_date(input.source, workload, deal, pieces);
    checked = with_missing_tables(workload, pieces.document.plan);
  }
  if (!validate(workload, checked).ok()) {
    return find_faults(workload, checked, pieces.names).front().with_context(input.source);
  }
  for (const auto& [index, written] : pieces.torchrec) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_torchrec_table(*written, pieces.document.plan.devices)
            .with_context(input.source + ": " + describe_table(workload, index)));
  }
  return BoundPlan{std::move(pieces.document), std::move(pieces.notes)};
}

}  // namespace neuroshard::io
