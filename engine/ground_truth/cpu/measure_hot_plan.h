#pragma once

#include "engine/core/plan.h"
#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/ground_truth/measure.h"

namespace neuroshard {

/// Runs the steps of a plan with hot rows on ranks that are threads of this process (HotStep).
/// Ranks compute one after the other, on options.threads, so that each has the machine; they
/// exchange all at once. Backward exchanges begin together, and are followed by the sum of hot
/// rows' gradients; forward ones begin on each rank where its computing and backward exchange would
/// let it, and end for all when the last one ends. Compute times have what adds hot sums to cold
/// ones in them, and the update of hot rows, which every rank makes. Medians over
/// options.timed_runs, after warmup_runs. Caches are not flushed between. Errors: kInvalidInput as
/// check_measurable_with_hot_rows(), for tables that no kernel here runs, and beyond
/// max_memory_bytes, which are of a device; kUnavailable where this machine has too little memory
/// or too few threads.
Result<PlanMeasurement> measure_hot_plan(const Workload& workload, const Plan& plan,
                                         const GroundTruthOptions& options, ProgressSink* progress);

}  // namespace neuroshard
