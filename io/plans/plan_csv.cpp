#include "io/plans/plan_csv.h"

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

Result<std::string> format_plan_csv(const Workload& workload, const PlanDocument& document,
                                    const PlanExportOptions&) {
  std::string csv = "table,name,row_begin,row_end,column_begin,column_end,device,bytes\n";
  for (const Shard& shard : document.plan.shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    csv += std::to_string(shard.table) + "," + csv_field(table.name) + "," +
           std::to_string(shard.row_begin) + "," + std::to_string(shard.row_end) + "," +
           std::to_string(shard.column_begin) + "," + std::to_string(shard.column_end) + "," +
           (shard.device == kEveryDevice ? "all" : std::to_string(shard.device)) + "," +
           std::to_string(shard_bytes(workload, shape_of(shard))) + "\n";
  }
  return csv;
}

}  // namespace neuroshard::io
