#include <algorithm>
#include <map>
#include <string_view>

#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "io/plans/plan_tables.h"
#include "io/reports/report_page.h"
#include "io/reports/svg.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {
namespace {

std::string text_cell(std::string_view text) {
  return "<td class=\"text\">" + html_text(text) + "</td>";
}

std::string cell(std::string_view text) { return "<td>" + html_text(text) + "</td>"; }

/// TorchRec's word, or what stands for the lack of one.
std::string type_of(const ReportPage& page, std::size_t index, const ShardsByTable& by_table) {
  const std::int32_t devices = page.document.plan.devices;
  const Result<std::string_view> type =
      torchrec_sharding_type(page.workload.tables[index], by_table.of(index), devices,
                             host_size(devices, page.options.devices_per_host));
  return type.ok() ? std::string(*type) : "none of TorchRec's";
}

/// Cells of a shard's row on where its weights are: kernel, share of rows in the cache, bytes.
std::string kernel_cells(const ReportPage& page, const Shard& shard) {
  const TableKernel& kernel = shard.kernel;
  const bool replicated = shard.device == kEveryDevice;
  return "<td class=\"text\">" + (replicated ? "" : std::string(to_string(kernel.kernel))) +
         "</td><td>" +
         (kernel.load_factor > 0 ? general_decimals(100 * kernel.load_factor, 4) + " %" : "") +
         "</td><td>" + format_bytes(page.host_bytes(shard)) + "</td>";
}

/// "+1.2 %" of what the plan costs.
std::string change_of(const ReportPage& page, double cost_ms) {
  const double own = page.document.cost.cost_ms;
  if (own <= 0) return report_ms(cost_ms);
  const double share = cost_ms / own - 1;
  return (share >= 0 ? "+" : "") + report_percent(share);
}

}  // namespace

std::string reasons_table(const ReportPage& page) {
  const std::vector<TableFacts>& facts = page.options.facts;
  if (facts.empty()) return "";
  const ShardsByTable by_table(page.workload, page.document.plan);
  std::string html =
      "<h2>Why the dearest tables are where they are</h2>\n<p class=\"legend\">Each was also tried "
      "in every other place that has room for it, all other tables staying: the best of those, and "
      "what the plan would cost then.</p>\n<div class=\"scroll\"><table>\n<tr><th class=\"text\">"
      "table</th><th class=\"text\">sharding type</th><th>alone</th><th>adds to its device</th>"
      "<th class=\"text\">next best place</th><th>plan then</th></tr>\n";
  bool cheaper = false;
  for (const TableFacts& own : facts) {
    const auto index = static_cast<std::size_t>(own.table);
    if (own.table < 0 || index >= page.workload.tables.size()) continue;
    cheaper |= !own.next_best.empty() && own.next_cost_ms < page.document.cost.cost_ms;
    html += "<tr>" + text_cell(page.workload.tables[index].name) +
            text_cell(type_of(page, index, by_table)) + cell(report_ms(own.alone_ms)) +
            cell(report_ms(own.adds_ms)) +
            text_cell(own.next_best.empty() ? "none has room" : own.next_best) +
            cell(own.next_best.empty() ? "" : change_of(page, own.next_cost_ms)) + "</tr>\n";
  }
  return html + "</table></div>\n<p class=\"legend\">" +
         (cheaper ? "One of these changes makes the plan cheaper: a longer search may find it."
                  : "None of these changes makes the plan cheaper.") +
         "</p>\n";
}

std::string types_table(const ReportPage& page) {
  const ShardsByTable by_table(page.workload, page.document.plan);
  std::map<std::string, std::size_t> counts;
  std::string rows;
  for (std::size_t index = 0; index < page.workload.tables.size(); ++index) {
    const Table& table = page.workload.tables[index];
    const std::span<const Shard> shards = by_table.of(index);
    const std::string type = type_of(page, index, by_table);
    ++counts[type];
    std::int64_t bytes = 0;
    for (const Shard& shard : shards) bytes += page.bytes(shard);
    rows += "<tr>" + text_cell(table.name) + text_cell(type) + cell(std::to_string(shards.size())) +
            cell(std::to_string(table.rows)) + cell(std::to_string(table.dim)) +
            cell(general_decimals(table.pooling_factor, 4)) + cell(format_bytes(bytes)) + "</tr>\n";
  }
  std::string summary;
  for (const auto& [type, count] : counts) {
    summary += (summary.empty() ? "" : ", ") + std::to_string(count) + " " + type;
  }
  return "<h2>Tables</h2>\n<p class=\"legend\">By TorchRec's sharding types: " +
         html_text(summary) +
         ".</p>\n<div class=\"scroll\"><table>\n<tr><th class=\"text\">table</th><th "
         "class=\"text\">sharding type</th><th>shards</th><th>rows</th><th>columns</th><th>lookups "
         "per sample</th><th>memory</th></tr>\n" +
         rows + "</table></div>\n";
}

std::string shard_table(const ReportPage& page) {
  std::string html =
      "<h2>Shards</h2>\n<div class=\"scroll\"><table>\n<tr><th>device</th><th class=\"text\">table"
      "</th><th>rows</th><th>columns</th><th>lookups per sample</th><th>memory</th>";
  const bool costed = page.options.shard_ms.size() == page.document.plan.shards.size();
  if (costed) html += "<th>alone</th>";
  if (page.offloaded()) {
    html += "<th class=\"text\">kernel</th><th>rows in cache</th><th>host memory</th>";
  }
  html += "</tr>\n";
  for (std::size_t number = 0; number < page.document.plan.shards.size(); ++number) {
    const Shard& shard = page.shard(number);
    const Table& table = page.table(shard);
    html +=
        "<tr>" +
        cell(shard.device == kEveryDevice ? std::string("all") : std::to_string(shard.device)) +
        text_cell(table.name) +
        cell(std::to_string(shard.row_begin) + " to " + std::to_string(shard.row_end - 1)) +
        cell(std::to_string(shard.column_begin) + " to " + std::to_string(shard.column_end - 1)) +
        cell(general_decimals(page.lookups(shard), 4)) + cell(format_bytes(page.bytes(shard))) +
        (costed ? cell(report_ms(page.options.shard_ms[number])) : "") +
        (page.offloaded() ? kernel_cells(page, shard) : "") + "</tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace neuroshard::io
