#include "io/reports/html_report.h"

#include <algorithm>
#include <vector>

#include "engine/core/algorithm_name.h"
#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "io/reports/html_style.h"
#include "io/reports/svg.h"

namespace neuroshard::io {
namespace {

constexpr std::int32_t kShardColours = 8;

/// What all parts of the page look at.
struct Page {
  const Workload& workload;
  const PlanDocument& document;
  const PlanExportOptions& options;
  std::vector<std::vector<Shard>> held;  ///< per device, replicated tables on each

  [[nodiscard]] const Table& table(const Shard& shard) const {
    return workload.tables[static_cast<std::size_t>(shard.table)];
  }
  [[nodiscard]] StepMemory step() const {
    return {document.buffers, workload.batch_size, document.plan.devices};
  }
  [[nodiscard]] std::int64_t bytes(const Shard& shard) const {
    return shard_bytes(workload, shape_of(shard), step());
  }
  [[nodiscard]] std::int64_t host_bytes(const Shard& shard) const {
    return bytes_on_host(table(shard), shape_of(shard));
  }
  [[nodiscard]] bool offloaded() const { return has_offloaded(document.plan); }
};

std::string milliseconds(double value) { return general_decimals(value, 4) + " ms"; }

std::string percent(double share) { return fixed_decimals(100 * share, 1) + " %"; }

std::string colour_of(const Shard& shard) {
  return "t" + std::to_string(shard.table % kShardColours);
}

std::string hint_of(const Page& page, const Shard& shard) {
  const Table& table = page.table(shard);
  std::string hint = table.name + ": columns " + std::to_string(shard.column_begin) + " to " +
                     std::to_string(shard.column_end - 1) + " of " + std::to_string(table.dim);
  if (shard.rows() != table.rows) {
    hint += ", rows " + std::to_string(shard.row_begin) + " to " +
            std::to_string(shard.row_end - 1) + " of " + std::to_string(table.rows);
  }
  hint += ", " + format_bytes(page.bytes(shard));
  if (!shard.kernel.offloaded()) return hint;
  return hint + " and " + format_bytes(page.host_bytes(shard)) + " on its host, " +
         describe(shard.kernel);
}

std::string heading(const Page& page) {
  const PlanDocument& document = page.document;
  std::string text = std::to_string(page.workload.tables.size()) + " tables, " +
                     describe_bytes(page.workload, page.step()) + ", batch " +
                     std::to_string(document.batch_size) + ", on " +
                     std::to_string(document.plan.devices) + " devices";
  if (page.options.memory_limit > 0) text += " of " + format_bytes(page.options.memory_limit);
  if (page.offloaded()) {
    text +=
        ", " + std::to_string(offloaded_tables(document.plan).size()) + " tables in host memory";
  }
  std::string html = "<h1>Sharding plan: " + milliseconds(document.cost.cost_ms) +
                     " on the slowest device</h1>\n<p class=\"facts\">" + html_text(text);
  const std::string& origin =
      page.options.cost_origin.empty() ? document.provenance.cost_model : page.options.cost_origin;
  if (!origin.empty()) html += "<br>costs predicted by " + html_text(origin);
  if (!document.provenance.algorithm.empty()) {
    html += "<br>found by " + html_text(display_name(document.provenance.algorithm)) + ", " +
            std::to_string(document.plan.shards.size()) + " shards";
  }
  return html + "</p>\n";
}

std::string cost_chart(const Page& page) {
  const std::vector<DeviceCost>& costs = page.document.cost.per_device;
  double largest = 0;
  for (const DeviceCost& cost : costs) largest = std::max(largest, cost.total_ms());
  RowChart chart("cost of a step on each device", largest);
  for (std::size_t device = 0; device < costs.size(); ++device) {
    const DeviceCost& cost = costs[device];
    chart.row("device " + std::to_string(device));
    chart.bar(cost.compute_ms, "compute", "compute " + milliseconds(cost.compute_ms));
    chart.bar(cost.forward_comm_ms, "forward",
              "forward communication " + milliseconds(cost.forward_comm_ms));
    chart.bar(cost.backward_comm_ms, "backward",
              "backward communication " + milliseconds(cost.backward_comm_ms));
    chart.note(milliseconds(cost.total_ms()) + (cost.total_ms() >= largest ? ", slowest" : ""));
  }
  return "<h2>What a step costs</h2>\n<p class=\"legend\"><span class=\"key compute\"></span>"
         "compute<span class=\"key forward\"></span>forward communication, waiting included"
         "<span class=\"key backward\"></span>backward communication</p>\n" +
         chart.render();
}

std::string baseline_chart(const Page& page) {
  if (page.options.baselines.empty()) return "";
  const double own = page.document.cost.cost_ms;
  double largest = own;
  for (const BaselineCost& other : page.options.baselines) {
    if (other.feasible) largest = std::max(largest, other.cost_ms);
  }
  RowChart chart("cost of this plan and of the baselines", largest);
  chart.row("this plan");
  chart.bar(own, "compute", milliseconds(own));
  chart.note(milliseconds(own));
  for (const BaselineCost& other : page.options.baselines) {
    chart.row(display_name(other.name));
    if (!other.feasible) {
      chart.note(other.ended_by_time ? "no plan in its time" : "finds no plan that fits");
      continue;
    }
    chart.bar(other.cost_ms, "other", milliseconds(other.cost_ms));
    const double saved = other.cost_ms > 0 ? 1 - own / other.cost_ms : 0;
    chart.note(milliseconds(other.cost_ms) +
               (saved >= 0 ? ", this saves " + percent(saved) : ", this adds " + percent(-saved)) +
               (other.ended_by_time ? ", ended by time" : ""));
  }
  return "<h2>Beside the baselines</h2>\n" + chart.render();
}

std::string memory_chart(const Page& page) {
  const std::int64_t limit = page.options.memory_limit;
  const std::vector<std::int64_t> used =
      device_bytes(page.workload, page.document.plan, page.document.buffers);
  const std::int64_t most = *std::max_element(used.begin(), used.end());
  RowChart chart("memory on each device", static_cast<double>(std::max(most, limit)));
  for (std::size_t device = 0; device < used.size(); ++device) {
    chart.row("device " + std::to_string(device));
    for (const Shard& shard : page.held[device]) {
      chart.bar(static_cast<double>(page.bytes(shard)), colour_of(shard), hint_of(page, shard));
    }
    const double share =
        limit > 0 ? static_cast<double>(used[device]) / static_cast<double>(limit) : 0;
    chart.note(format_bytes(used[device]) + (limit > 0 ? ", " + percent(share) : ""));
  }
  if (limit > 0) chart.mark(static_cast<double>(limit), "limit " + format_bytes(limit));
  return "<h2>Memory" + std::string(limit > 0 ? " against the limit" : "") + "</h2>\n" +
         chart.render();
}

/// What each device has in its host's memory, where any has.
std::string host_memory_chart(const Page& page) {
  if (!page.offloaded()) return "";
  const std::vector<std::int64_t> used = device_host_bytes(page.workload, page.document.plan);
  RowChart chart("host memory of each device",
                 static_cast<double>(*std::max_element(used.begin(), used.end())));
  for (std::size_t device = 0; device < used.size(); ++device) {
    chart.row("device " + std::to_string(device));
    for (const Shard& shard : page.held[device]) {
      const std::int64_t bytes = page.host_bytes(shard);
      if (bytes == 0) continue;
      chart.bar(static_cast<double>(bytes), colour_of(shard), hint_of(page, shard));
    }
    chart.note(format_bytes(used[device]));
  }
  return "<h2>Host memory</h2>\n" + chart.render();
}

std::string place_chart(const Page& page) {
  double widest = 0;
  std::vector<double> dims;
  for (const std::vector<Shard>& shards : page.held) {
    double sum = 0;
    for (const Shard& shard : shards) sum += shard.dim();
    dims.push_back(sum);
    widest = std::max(widest, sum);
  }
  RowChart chart("shards on each device, as wide as their columns", widest);
  for (std::size_t device = 0; device < page.held.size(); ++device) {
    chart.row("device " + std::to_string(device));
    for (const Shard& shard : page.held[device]) {
      chart.bar(shard.dim(), colour_of(shard), hint_of(page, shard), page.table(shard).name);
    }
    chart.note(std::to_string(page.held[device].size()) + " shards, " +
               std::to_string(static_cast<std::int64_t>(dims[device])) + " columns");
  }
  return "<h2>Which shard is where</h2>\n<p class=\"legend\">As wide as their columns; one colour "
         "a table, point at a shard for its name.</p>\n" +
         chart.render();
}

/// Cells of a shard's row on where its weights are: kernel, share of rows in the cache, bytes.
std::string kernel_cells(const Page& page, const Shard& shard) {
  const TableKernel& kernel = shard.kernel;
  const bool replicated = shard.device == kEveryDevice;
  return "<td class=\"text\">" + (replicated ? "" : std::string(to_string(kernel.kernel))) +
         "</td><td>" +
         (kernel.load_factor > 0 ? general_decimals(100 * kernel.load_factor, 4) + " %" : "") +
         "</td><td>" + format_bytes(page.host_bytes(shard)) + "</td>";
}

std::string shard_table(const Page& page) {
  std::string html =
      "<h2>Shards</h2>\n<div class=\"scroll\"><table>\n<tr><th>device</th><th class=\"text\">table"
      "</th><th>rows</th><th>columns</th><th>lookups per sample</th><th>memory</th>";
  if (page.offloaded()) {
    html += "<th class=\"text\">kernel</th><th>rows in cache</th><th>host memory</th>";
  }
  html += "</tr>\n";
  for (const Shard& shard : page.document.plan.shards) {
    const Table& table = page.table(shard);
    html += "<tr><td>" +
            (shard.device == kEveryDevice ? std::string("all") : std::to_string(shard.device)) +
            "</td><td class=\"text\">" + html_text(table.name) + "</td><td>" +
            std::to_string(shard.row_begin) + " to " + std::to_string(shard.row_end - 1) +
            "</td><td>" + std::to_string(shard.column_begin) + " to " +
            std::to_string(shard.column_end - 1) + "</td><td>" +
            general_decimals(table.pooling_factor, 4) + "</td><td>" +
            format_bytes(page.bytes(shard)) + "</td>" +
            (page.offloaded() ? kernel_cells(page, shard) : "") + "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string origin(const PlanProvenance& provenance) {
  if (provenance == PlanProvenance{}) return "";
  return "<p class=\"facts\">neuroshard " + html_text(provenance.engine_version) +
         ", cost model sha256 " + html_text(provenance.cost_model_sha256) + ", tables sha256 " +
         html_text(provenance.input_sha256) + ", seed " + std::to_string(provenance.seed) +
         "</p>\n";
}

}  // namespace

Result<std::string> format_html_report(const Workload& workload, const PlanDocument& document,
                                       const PlanExportOptions& options) {
  const auto devices = static_cast<std::size_t>(document.plan.devices);
  if (document.cost.per_device.size() != devices) {
    return invalid_input("the plan has no costs per device, the report is about them");
  }
  Page page{workload, document, options, std::vector<std::vector<Shard>>(devices)};
  for (const Shard& shard : document.plan.shards) {
    if (shard.device != kEveryDevice) {
      page.held[static_cast<std::size_t>(shard.device)].push_back(shard);
      continue;
    }
    for (std::vector<Shard>& held : page.held) held.push_back(shard);
  }
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<title>Sharding plan</title>\n<style>" +
         std::string(kReportStyle) + "</style>\n</head>\n<body>\n" + heading(page) +
         cost_chart(page) + baseline_chart(page) + memory_chart(page) + host_memory_chart(page) +
         place_chart(page) + shard_table(page) + origin(document.provenance) + "</body>\n</html>\n";
}

}  // namespace neuroshard::io
