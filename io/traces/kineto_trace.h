#pragma once

#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "io/traces/kineto_steps.h"
#include "io/traces/step_trace.h"

namespace neuroshard::io {

/// Reads the JSON that torch.profiler's export_chrome_trace() writes. Steps are its ProfilerStep#N
/// marks; a trace without is one step. It knows FBGEMM's fused lookups by their operators and their
/// backward pass by its autograd node: the time is that of the kernels that were launched there, or
/// of the operators where the trace has no kernels, and nothing where its kernels do not say, in
/// "External id", who launched them. Columns and batch are the shape of the
/// gradient, lookups that of the indices whose bounds are checked: without `record_shapes` they are
/// nothing. Exchanges are c10d::alltoall_base_ of floating point, as exchange_halves() has them;
/// their times, of NCCL's kernels or of gloo's threads, include waiting for other ranks. A rank
/// with exchanges alone has no tables. Errors: kInvalidInput naming the source and the JSON path; a
/// trace with neither fused lookups nor exchanges. Thread-safe.
Result<KinetoRank> parse_kineto_trace(std::string_view bytes, const std::string& source);

/// Those of a folder, *.json, a file of each rank: the trace says which, or the last number of the
/// file's name. Errors: as above, and ranks that are missing or contradict each other.
Result<StepTrace> read_kineto_steps(const std::string& folder);

/// Adds the times and the hardware of profiler traces to the shapes and splits of execution traces
/// of the same run. Errors: kInvalidInput where they are of other ranks, columns or another batch.
Status add_kineto_times(const StepTrace& times, StepTrace& shapes);

}  // namespace neuroshard::io
