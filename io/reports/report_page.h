#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/table.h"
#include "io/plans/export_options.h"
#include "io/plans/plan_document.h"

// The report on a plan in parts; html_report.h puts them together. Each part is "" where there is
// nothing to say.

namespace neuroshard::io {

/// What all parts of the page look at. Borrows all but what each device holds.
struct ReportPage {
  const Workload& workload;
  const PlanDocument& document;  ///< with a canonical plan
  const PlanExportOptions& options;
  /// Of each device the numbers of its shards; those of tables on every device on each.
  std::vector<std::vector<std::size_t>> held;

  [[nodiscard]] const Shard& shard(std::size_t number) const {
    return document.plan.shards[number];
  }
  [[nodiscard]] const Table& table(const Shard& shard) const {
    return workload.tables[static_cast<std::size_t>(shard.table)];
  }
  /// On its device, and on its host.
  [[nodiscard]] std::int64_t bytes(const Shard& shard) const;
  [[nodiscard]] std::int64_t host_bytes(const Shard& shard) const;
  /// Mean lookups per sample: a shard has the share of its table's that it has of the rows.
  [[nodiscard]] double lookups(const Shard& shard) const;
  [[nodiscard]] bool offloaded() const;
};

/// "2.15 ms", "12.5 %".
std::string report_ms(double value);
std::string report_percent(double share);
/// What pointing at the shard says.
std::string shard_hint(const ReportPage& page, std::size_t number);

std::string cost_chart(const ReportPage& page);
std::string baseline_chart(const ReportPage& page);
std::string memory_chart(const ReportPage& page);
std::string host_memory_chart(const ReportPage& page);
/// Which shard is where: as wide as its columns or, by a switch that needs no script, as the time
/// that it takes alone.
std::string place_charts(const ReportPage& page);

/// What the dearest tables take, and where else they could be.
std::string reasons_table(const ReportPage& page);
/// TorchRec's sharding type of each table.
std::string types_table(const ReportPage& page);
std::string shard_table(const ReportPage& page);

}  // namespace neuroshard::io
