#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/formats/plan_formats.h"
#include "io/plans/export_options.h"
#include "io/plans/plan_document.h"

// Plans for the trainers that run them and for the people who read them. One entry by format name;
// what a format cannot express is refused with the reason, never approximated.

namespace neuroshard::io {

/// `document` in the format of that name, as the bytes of a file. Deterministic. Errors:
/// kInvalidInput for an unknown format, a plan that does not cover `workload` exactly, options out
/// of range, and whatever the format cannot express: the message names the table and the reason.
/// Placements of a TorchRec file that the options' words cannot say are refused by "torchrec"
/// unless the options say others. Thread-safe.
Result<std::string> export_plan(std::string_view format, const Workload& workload,
                                const PlanDocument& document, const PlanExportOptions& options);

/// The same in a format that is a folder of files, each given to `sink`, from its beginning to its
/// end. Errors: those of export_plan(), kInvalidInput also where the document has no costs, and the
/// sink's.
Status export_folder(std::string_view format, const Workload& workload,
                     const PlanDocument& document, const PlanExportOptions& options,
                     const FolderSink& sink);

/// The plan that a file in that format holds, which is what costs beside it have to be of: `plan`
/// but for shards that the format cannot tell apart (HugeCTR's: column blocks that follow one
/// another on a device) or that its trainer would not run (TorchRec's: torchrec_plan()). Canonical.
Plan plan_as_written(std::string_view format, Plan plan);

/// kInvalidInput, naming the table, when a plan as written has one whole that may not be: columns
/// on one device that the format holds as one.
Status check_as_written(std::string_view format, const Workload& workload, const Plan& plan);

/// kInvalidInput where the trainer of that format does not run the plan, as export_plan() says why.
/// Of hot rows it knows, where it has a model for them, though no file has a place for them.
Status check_runs(std::string_view format, const Workload& workload, const PlanDocument& document,
                  const PlanExportOptions& options);

/// What of `document.places` a file in that format does not hold, for people: "modules, CPU
/// placements"; "" when nothing is lost.
std::string lost_places(std::string_view format, const PlanDocument& document);

/// Which rows of `plan` the trainer of that format lays out in another way than plans say, and what
/// that means for costs, for people: "HugeCTR deals ..", "" where there are none.
std::string rows_as_run(std::string_view format, const Workload& workload, const Plan& plan);

/// What of export_plan()'s refusals is known before there is a plan: the format, the options, names
/// and dims of the tables. Refuses nothing that some plan of `workload` on `devices` could be
/// written as.
Status check_exportable(std::string_view format, const Workload& workload, std::int32_t devices,
                        const PlanExportOptions& options, const ExchangeFormat& exchange = {});

}  // namespace neuroshard::io
