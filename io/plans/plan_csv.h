#pragma once

#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/plans/export_options.h"
#include "io/plans/plan_document.h"

namespace neuroshard::io {

/// One line a shard under the heading
/// table,name,row_begin,row_end,column_begin,column_end,device,bytes; a table that every device
/// holds has device "all". Plans with tables in host memory have further columns,
/// compute_kernel (empty with device "all"), cache_load_factor (empty without a cache) and
/// host_bytes; bytes are those on the device. Fields are quoted where RFC 4180 asks for it; lines
/// end in '\n'.
Result<std::string> format_plan_csv(const Workload& workload, const PlanDocument& document,
                                    const PlanExportOptions& options);

/// `text` as a CSV field: in quotes when it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace neuroshard::io
