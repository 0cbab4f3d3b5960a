#pragma once

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/plans/export_options.h"
#include "io/plans/plan_document.h"
#include "io/traces/plan_trace.h"

namespace neuroshard::io {

/// A plan's embedding part as a benchmark that runs without the engine and without the model:
///
/// - run_plan.py, plan_data.py and fused_lookup.py, which need PyTorch and FBGEMM alone;
/// - benchmark.json: tables, shards, exchange, and what the document's costs predict;
/// - indices/: a batch of lookups into all tables, as `options.draw_lookups` draws them, in the
///   arrays of an index directory (index_directory.h);
/// - rank_R.json: the shards of a rank as FBGEMM's TBEDataConfig, each with the law of its lookups
///   that is the nearest to its table's histogram. A table on every device counts with one rank's
///   share of its lookups. Ranks with nothing to look up have no such file;
/// - pytorch_et/rank-R.json: a step of a rank as an execution trace (pytorch_steps.h).
///
/// REQUIRES a valid, canonical plan with costs, and complete options. Errors: kInvalidInput, naming
/// the table, for what FBGEMM's lookups of the script or the drawn lookups do not know: lookups
/// that are not pooled or have weights, several features, bf16, int8, columns in no multiple of 4;
/// also exchanges in fp8 or int8, and fewer samples than ranks. kInternal without `draw_lookups`,
/// kCancelled. The sink's. Thread-safe.
Status write_benchmark(const Workload& workload, const PlanDocument& document,
                       const PlanExportOptions& options, const FolderSink& sink);

}  // namespace neuroshard::io
