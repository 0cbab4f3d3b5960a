#include "io/plans/plan_csv.h"

#include "engine/core/offload.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "io/json/json_writer.h"
#include "io/text.h"

namespace neuroshard::io {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char character : text) {
    if (character == '"') field += '"';
    field += character;
  }
  return field + "\"";
}

namespace {

/// Where the table's weights are, behind a comma each: kernel, rows in its cache, bytes on hosts. A
/// table that every device holds has no such kernel.
std::string kernel_fields(const Table& table, const Shard& shard) {
  const TableKernel& kernel = shard.kernel;
  const bool replicated = shard.device == kEveryDevice;
  std::string fields = "," + (replicated ? "" : std::string(to_string(kernel.kernel))) + ",";
  if (kernel.load_factor > 0) fields += format_number(kernel.load_factor);
  return fields + "," + std::to_string(bytes_on_host(table, shape_of(shard)));
}

}  // namespace

Result<std::string> format_plan_csv(const Workload& workload, const PlanDocument& document,
                                    const PlanExportOptions&) {
  const bool offloaded = has_offloaded(document.plan);
  const StepMemory step{document.buffers, workload.batch_size, document.plan.devices};
  std::string csv = "table,name,row_begin,row_end,column_begin,column_end,device,bytes";
  if (offloaded) csv += ",compute_kernel,cache_load_factor,host_bytes";
  csv += "\n";
  for (const Shard& shard : document.plan.shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    csv += std::to_string(shard.table) + "," + csv_field(table.name) + "," +
           std::to_string(shard.row_begin) + "," + std::to_string(shard.row_end) + "," +
           std::to_string(shard.column_begin) + "," + std::to_string(shard.column_end) + "," +
           (shard.device == kEveryDevice ? "all" : std::to_string(shard.device)) + "," +
           std::to_string(shard_bytes(workload, shape_of(shard), step));
    if (offloaded) csv += kernel_fields(table, shard);
    csv += "\n";
  }
  return csv;
}

}  // namespace neuroshard::io
