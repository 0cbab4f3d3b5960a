#pragma once

#include <string>

#include "engine/core/status.h"
#include "engine/ground_truth/collect.h"
#include "io/benchmark/set_benchmark.h"

namespace neuroshard {

/// Writes what others have measured as a compute collection into `directory`, made when missing.
/// One that already has these results is left as it is, one that a killed process left unfinished
/// is finished. Errors: those of open_collection(), so also a directory with other results; the
/// log's.
Result<CollectReport> collect_measured(const io::MeasuredSets& measured,
                                       const std::string& directory);

}  // namespace neuroshard
