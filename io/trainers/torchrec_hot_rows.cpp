#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/hot_rows.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {

void keep_cold_rows(Workload& workload, PlanDocument& document, PlanExportOptions& options) {
  std::vector<std::string> modules =
      torchrec_modules(workload.tables.size(), document.places, options);
  if (modules.empty()) modules.assign(workload.tables.size(), "model");  // or any other name
  for (const HotRows& hot : hot_rows(document.plan)) {
    const auto index = static_cast<std::size_t>(hot.table);
    Table& table = workload.tables[index];
    if (!table.pooled) continue;
    table.pooled = false;
    modules[index] += ".sequences." + std::to_string(table.dim);
  }
  for (Shard& shard : document.plan.shards) shard.kernel.hot_rows = 0;
  document.places.modules.clear();
  options.module.clear();
  options.table_modules = std::move(modules);
}

}  // namespace neuroshard::io
