#include "io/reports/html_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/core/algorithm_name.h"
#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/core/offload.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "io/reports/html_style.h"
#include "io/reports/report_page.h"
#include "io/reports/svg.h"

namespace neuroshard::io {
namespace {

StepMemory step_of(const ReportPage& page) {
  return {page.document.buffers, page.workload.batch_size, page.document.plan.devices};
}

/// What the word says of the costs, to somebody who has not asked.
std::string_view meaning_of(std::string_view word) {
  if (word == "measured") return "predicted by networks that learned from measured hardware";
  if (word == "calibrated") return "predicted from a simulation fitted to measured figures";
  if (word == "simulated") return "of simulated hardware: nobody has measured them";
  if (word == "formula") return "of a formula: nobody has measured them";
  return "";
}

/// "SIMULATED", as large as the cost beside it.
std::string badge(const ReportPage& page) {
  const std::string& given = page.options.cost_word;
  const std::string word = given.empty() ? page.document.provenance.cost_provenance : given;
  if (word.empty()) return "";
  std::string large = word;
  for (char& letter : large) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  const std::string kind = word == "measured" ? "measured" : "unmeasured";
  return " <span class=\"badge " + kind + "\">" + html_text(large) + "</span>";
}

std::string bound_text(const ReportPage& page) {
  const std::optional<double>& bound = page.options.lower_bound_ms;
  if (!bound) return "";
  const double own = page.document.cost.cost_ms;
  std::string text = "no plan costs less than " + report_ms(*bound) + ", halves of rows aside";
  if (*bound > 0) text += ": this one at most " + report_percent(own / *bound - 1) + " more";
  return "<br>" + html_text(text);
}

std::string heading(const ReportPage& page) {
  const PlanDocument& document = page.document;
  std::string text = std::to_string(page.workload.tables.size()) + " tables, " +
                     describe_bytes(page.workload, step_of(page)) + ", batch " +
                     std::to_string(document.batch_size) + ", on " +
                     std::to_string(document.plan.devices) + " devices";
  if (page.options.memory_limit > 0) text += " of " + format_bytes(page.options.memory_limit);
  if (page.offloaded()) {
    text +=
        ", " + std::to_string(offloaded_tables(document.plan).size()) + " tables in host memory";
  }
  if (!is_exact(document.exchange)) {
    text += ", exchanges in " + std::string(to_string(document.exchange.forward)) + ", backward " +
            std::string(to_string(document.exchange.backward)) + " (the trainer has to be told)";
  }
  const std::optional<CostError>& error = document.cost_error;
  std::string html =
      "<h1>Sharding plan: " + report_ms(document.cost.cost_ms) +
      (error && error->share ? " &plusmn; " + report_percent(*error->share) : "") +
      (are_of_steps(document.cost.per_device) ? " for the whole step" : " for the tables") +
      " on the slowest device" + badge(page) + "</h1>\n<p class=\"facts\">" + html_text(text);
  const std::string& origin =
      page.options.cost_origin.empty() ? document.provenance.cost_model : page.options.cost_origin;
  if (!origin.empty()) html += "<br>costs predicted by " + html_text(origin);
  if (error) {
    html += (error->share ? "<br>error: " : "<br>error not known: ") + html_text(error->basis);
  }
  const std::string_view meaning = meaning_of(page.options.cost_word);
  if (!meaning.empty()) html += "<br>these costs are " + html_text(meaning);
  html += bound_text(page);
  if (!document.provenance.algorithm.empty()) {
    html += "<br>found by " + html_text(display_name(document.provenance.algorithm)) + ", " +
            std::to_string(document.plan.shards.size()) + " shards";
  }
  const PlanExportOptions& options = page.options;
  if (!options.date.empty()) html += "<br>made on " + html_text(options.date);
  if (!options.command.empty()) {
    html += "<br>by <code>" + html_text(options.command) + "</code>";
  }
  return html + "</p>\n";
}

std::string origin(const PlanProvenance& provenance) {
  if (provenance == PlanProvenance{}) return "";
  return "<p class=\"facts\">neuroshard " + html_text(provenance.engine_version) +
         ", cost model sha256 " + html_text(provenance.cost_model_sha256) + ", tables sha256 " +
         html_text(provenance.input_sha256) + ", seed " + std::to_string(provenance.seed) +
         "</p>\n";
}

}  // namespace

std::int64_t ReportPage::bytes(const Shard& shard) const {
  return shard_bytes(workload, shape_of(shard), step_of(*this));
}

std::int64_t ReportPage::host_bytes(const Shard& shard) const {
  return bytes_on_host(table(shard), shape_of(shard));
}

double ReportPage::lookups(const Shard& shard) const {
  const Table& own = table(shard);
  return own.pooling_factor * static_cast<double>(shard.rows()) / static_cast<double>(own.rows);
}

bool ReportPage::offloaded() const { return has_offloaded(document.plan); }

std::string report_ms(double value) { return general_decimals(value, 4) + " ms"; }

std::string report_percent(double share) { return fixed_decimals(100 * share, 1) + " %"; }

std::string shard_hint(const ReportPage& page, std::size_t number) {
  const Shard& shard = page.shard(number);
  const Table& table = page.table(shard);
  std::string hint = table.name + ": columns " + std::to_string(shard.column_begin) + " to " +
                     std::to_string(shard.column_end - 1) + " of " + std::to_string(table.dim);
  if (shard.rows() != table.rows) {
    hint += ", rows " + std::to_string(shard.row_begin) + " to " +
            std::to_string(shard.row_end - 1) + " of " + std::to_string(table.rows);
  }
  hint += ", " + format_bytes(page.bytes(shard));
  if (shard.kernel.offloaded()) {
    hint +=
        " and " + format_bytes(page.host_bytes(shard)) + " on its host, " + describe(shard.kernel);
  }
  const std::vector<double>& costs = page.options.shard_ms;
  if (costs.size() != page.document.plan.shards.size()) return hint;
  return hint + ", takes " + report_ms(costs[number]) + " alone";
}

Result<std::string> format_html_report(const Workload& workload, const PlanDocument& document,
                                       const PlanExportOptions& options) {
  const auto devices = static_cast<std::size_t>(document.plan.devices);
  if (document.cost.per_device.size() != devices) {
    return invalid_input("the plan has no costs per device, the report is about them");
  }
  ReportPage page{workload, document, options, std::vector<std::vector<std::size_t>>(devices)};
  for (std::size_t number = 0; number < document.plan.shards.size(); ++number) {
    const std::int32_t device = page.shard(number).device;
    if (device != kEveryDevice) {
      page.held[static_cast<std::size_t>(device)].push_back(number);
      continue;
    }
    for (std::vector<std::size_t>& held : page.held) held.push_back(number);
  }
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<title>Sharding plan</title>\n<style>" +
         std::string(kReportStyle) + "</style>\n</head>\n<body>\n" + heading(page) +
         cost_chart(page) + baseline_chart(page) + reasons_table(page) + memory_chart(page) +
         host_memory_chart(page) + place_charts(page) + types_table(page) + shard_table(page) +
         origin(document.provenance) + "</body>\n</html>\n";
}

}  // namespace neuroshard::io
