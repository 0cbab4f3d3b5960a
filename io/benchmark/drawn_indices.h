#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/plans/export_options.h"
#include "io/traces/plan_trace.h"

namespace neuroshard::io {

/// Gives `sink` the arrays of an index directory (index_directory.h), in a folder "indices", of a
/// batch that `draw` makes table by table; one table's lookups are in memory at a time, and the
/// lengths of all bags. `seen` gets every table's lookups, too. REQUIRES
/// round(batch size * pooling factor) lookups of each. Errors: kInternal where there are others,
/// the sink's.
Status write_drawn_indices(
    const Workload& workload, std::int64_t batch_size,
    const std::function<DrawnLookups(const Table&, std::int64_t)>& draw,
    const std::function<void(std::int32_t table, const std::vector<std::int64_t>&)>& seen,
    const FolderSink& sink);

}  // namespace neuroshard::io
