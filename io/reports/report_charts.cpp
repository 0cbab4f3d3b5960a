#include <algorithm>
#include <functional>

#include "engine/core/algorithm_name.h"
#include "engine/core/bytes.h"
#include "engine/core/plan_bytes.h"
#include "io/reports/report_page.h"
#include "io/reports/svg.h"

namespace neuroshard::io {
namespace {

constexpr std::int32_t kShardColours = 8;

std::string colour_of(const Shard& shard) {
  return "t" + std::to_string(shard.table % kShardColours);
}

/// Shards on each device, as wide as `width` says; `note` is what stands behind a device's.
std::string place_chart(const ReportPage& page, const std::string& title,
                        const std::function<double(std::size_t)>& width,
                        const std::function<std::string(double)>& note) {
  double widest = 0;
  std::vector<double> sums;
  for (const std::vector<std::size_t>& shards : page.held) {
    double sum = 0;
    for (const std::size_t number : shards) sum += width(number);
    sums.push_back(sum);
    widest = std::max(widest, sum);
  }
  RowChart chart(title, widest);
  for (std::size_t device = 0; device < page.held.size(); ++device) {
    chart.row("device " + std::to_string(device));
    for (const std::size_t number : page.held[device]) {
      const Shard& shard = page.shard(number);
      chart.bar(width(number), colour_of(shard), shard_hint(page, number), page.table(shard).name);
    }
    chart.note(std::to_string(page.held[device].size()) + " shards, " + note(sums[device]));
  }
  return chart.render();
}

}  // namespace

std::string cost_chart(const ReportPage& page) {
  const std::vector<DeviceCost>& costs = page.document.cost.per_device;
  const bool steps = are_of_steps(page.document.cost.per_device);
  double largest = 0;
  for (const DeviceCost& cost : costs) largest = std::max(largest, cost.total_ms());
  RowChart chart("cost of a step on each device", largest);
  for (std::size_t device = 0; device < costs.size(); ++device) {
    const DeviceCost& cost = costs[device];
    chart.row("device " + std::to_string(device));
    chart.bar(cost.compute_ms, "compute", "compute " + report_ms(cost.compute_ms));
    chart.bar(cost.forward_comm_ms, "forward",
              "forward communication " + report_ms(cost.forward_comm_ms));
    chart.bar(cost.backward_comm_ms, "backward",
              "backward communication " + report_ms(cost.backward_comm_ms));
    if (steps) chart.bar(cost.dense_ms, "dense", "dense part " + report_ms(cost.dense_ms));
    chart.note(report_ms(cost.total_ms()) + (cost.total_ms() >= largest ? ", slowest" : ""));
  }
  return "<h2>What a step costs</h2>\n<p class=\"legend\"><span class=\"key compute\"></span>"
         "compute<span class=\"key forward\"></span>forward communication, waiting included"
         "<span class=\"key backward\"></span>backward communication" +
         std::string(steps ? "<span class=\"key dense\"></span>dense part that no exchange hides"
                           : "") +
         "</p>\n" + chart.render();
}

std::string baseline_chart(const ReportPage& page) {
  if (page.options.baselines.empty()) return "";
  const double own = page.document.cost.cost_ms;
  double largest = own;
  for (const BaselineCost& other : page.options.baselines) {
    if (other.feasible) largest = std::max(largest, other.cost_ms);
  }
  RowChart chart("cost of this plan and of the baselines", largest);
  chart.row("this plan");
  chart.bar(own, "compute", report_ms(own));
  chart.note(report_ms(own));
  for (const BaselineCost& other : page.options.baselines) {
    chart.row(display_name(other.name));
    if (!other.feasible) {
      chart.note(other.ended_by_time ? "no plan in its time" : "finds no plan that fits");
      continue;
    }
    chart.bar(other.cost_ms, "other", report_ms(other.cost_ms));
    const double saved = other.cost_ms > 0 ? 1 - own / other.cost_ms : 0;
    const std::optional<CostError>& error = page.document.cost_error;
    const bool equal = error && within_error(*error, other.cost_ms, own);
    chart.note(report_ms(other.cost_ms) +
               (equal        ? ", within the model's error"
                : saved >= 0 ? ", this saves " + report_percent(saved)
                             : ", this adds " + report_percent(-saved)) +
               (other.ended_by_time ? ", ended by time" : ""));
  }
  return "<h2>Beside the baselines</h2>\n" + chart.render();
}

std::string memory_chart(const ReportPage& page) {
  const std::int64_t limit = page.options.memory_limit;
  const std::vector<std::int64_t> used =
      device_bytes(page.workload, page.document.plan, page.document.buffers);
  const std::int64_t most = *std::max_element(used.begin(), used.end());
  RowChart chart("memory on each device", static_cast<double>(std::max(most, limit)));
  for (std::size_t device = 0; device < used.size(); ++device) {
    chart.row("device " + std::to_string(device));
    for (const std::size_t number : page.held[device]) {
      const Shard& shard = page.shard(number);
      chart.bar(static_cast<double>(page.bytes(shard)), colour_of(shard), shard_hint(page, number));
    }
    const double share =
        limit > 0 ? static_cast<double>(used[device]) / static_cast<double>(limit) : 0;
    chart.note(format_bytes(used[device]) + (limit > 0 ? ", " + report_percent(share) : ""));
  }
  if (limit > 0) chart.mark(static_cast<double>(limit), "limit " + format_bytes(limit));
  return "<h2>Memory" + std::string(limit > 0 ? " against the limit" : "") + "</h2>\n" +
         chart.render();
}

/// What each device has in its host's memory, where any has.
std::string host_memory_chart(const ReportPage& page) {
  if (!page.offloaded()) return "";
  const std::vector<std::int64_t> used = device_host_bytes(page.workload, page.document.plan);
  RowChart chart("host memory of each device",
                 static_cast<double>(*std::max_element(used.begin(), used.end())));
  for (std::size_t device = 0; device < used.size(); ++device) {
    chart.row("device " + std::to_string(device));
    for (const std::size_t number : page.held[device]) {
      const Shard& shard = page.shard(number);
      const std::int64_t bytes = page.host_bytes(shard);
      if (bytes == 0) continue;
      chart.bar(static_cast<double>(bytes), colour_of(shard), shard_hint(page, number));
    }
    chart.note(format_bytes(used[device]));
  }
  return "<h2>Host memory</h2>\n" + chart.render();
}

std::string place_charts(const ReportPage& page) {
  const std::string by_columns = place_chart(
      page, "shards on each device, as wide as their columns",
      [&](std::size_t number) { return static_cast<double>(page.shard(number).dim()); },
      [](double sum) { return std::to_string(static_cast<std::int64_t>(sum)) + " columns"; });
  const std::string heading = "<h2>Which shard is where</h2>\n";
  const std::string colours = "; one colour a table, point at a shard for its name.</p>\n";
  const std::vector<double>& costs = page.options.shard_ms;
  if (costs.size() != page.document.plan.shards.size()) {
    return heading + "<p class=\"legend\">As wide as their columns" + colours + by_columns;
  }
  const std::string by_cost = place_chart(
      page, "shards on each device, as wide as the time that each takes alone",
      [&](std::size_t number) { return std::max(0.0, costs[number]); },
      [](double sum) { return report_ms(sum) + " alone"; });
  return heading +
         "<input type=\"radio\" name=\"width\" id=\"by-columns\" checked>"
         "<label for=\"by-columns\">as wide as their columns</label>\n"
         "<input type=\"radio\" name=\"width\" id=\"by-cost\">"
         "<label for=\"by-cost\">as wide as the time that each takes on a device of its "
         "own</label>\n<p class=\"legend\">Together on a device, shards may take less than the sum "
         "of what each takes alone" +
         colours + "<div class=\"by-columns\">\n" + by_columns +
         "</div>\n<div class=\"by-cost\">\n" + by_cost + "</div>\n";
}

}  // namespace neuroshard::io
