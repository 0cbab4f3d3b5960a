#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "io/reports/frontier_report.h"
#include "io/reports/html_style.h"
#include "io/reports/svg.h"

namespace neuroshard::io {
namespace {

// Geometry in user units of the view box, which the browser scales to the page.
constexpr double kWidth = 960;
constexpr double kHeight = 420;
constexpr double kLeft = 70;
constexpr double kRight = 130;  // the names of the lines
constexpr double kTop = 20;
constexpr double kBottom = 46;
constexpr int kTicks = 5;
/// Of the style sheet; a line each, again from the first where there are more.
constexpr std::array kColours{"compute", "forward", "backward", "limit"};

std::string milliseconds(double value) { return general_decimals(value, 4) + " ms"; }

/// Where values are: costs from 0, memory from none to a little more than the most.
struct Axes {
  double most_bytes = 1;
  double most_ms = 1;

  explicit Axes(const FrontierReport& report) {
    for (const FrontierPlan& plan : report.plans) {
      most_bytes = std::max(most_bytes, 1.08 * static_cast<double>(plan.memory_bytes));
      most_ms = std::max(most_ms, 0.0);
    }
    double dearest = 0;
    for (const FrontierPlan& plan : report.plans) {
      dearest = std::max(dearest, plan.document.cost.cost_ms);
    }
    if (dearest > 0) most_ms = 1.08 * dearest;
  }
  [[nodiscard]] double x(double bytes) const {
    return kLeft + (kWidth - kLeft - kRight) * bytes / most_bytes;
  }
  [[nodiscard]] double y(double ms) const {
    return kHeight - kBottom - (kHeight - kBottom - kTop) * ms / most_ms;
  }
};

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return "<line x1=\"" + svg_number(x1) + "\" y1=\"" + svg_number(y1) + "\" x2=\"" +
         svg_number(x2) + "\" y2=\"" + svg_number(y2) + "\" style=\"" + style + "\"/>\n";
}

std::string label(double x, double y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) +
         "\" style=\"text-anchor:" + anchor + "\">" + html_text(text) + "</text>\n";
}

std::string grid(const Axes& axes) {
  std::string svg;
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double share = tick / static_cast<double>(kTicks);
    const double y = axes.y(share * axes.most_ms);
    const double x = axes.x(share * axes.most_bytes);
    svg += line(kLeft, y, kWidth - kRight, y, "stroke:var(--line)");
    svg += label(kLeft - 8, y + 4, "end", milliseconds(share * axes.most_ms));
    svg += label(x, kHeight - kBottom + 18, "middle",
                 format_bytes(static_cast<std::int64_t>(share * axes.most_bytes)));
  }
  return svg + label((kLeft + kWidth - kRight) / 2, kHeight - 6, "middle",
                     "memory of the fullest device");
}

using Plans = std::vector<const FrontierPlan*>;

/// Steps: with so much memory, the cost is that of the last plan that needs no more.
std::string steps(const Axes& axes, const Plans& plans, const std::string& colour) {
  const std::string stroke = "stroke:var(--" + colour + ");stroke-width:2";
  std::string svg;
  for (std::size_t k = 0; k < plans.size(); ++k) {
    const double cost = plans[k]->document.cost.cost_ms;
    const auto bytes = static_cast<double>(plans[k]->memory_bytes);
    const bool last = k + 1 == plans.size();
    const double end = last ? axes.most_bytes : static_cast<double>(plans[k + 1]->memory_bytes);
    svg += line(axes.x(bytes), axes.y(cost), axes.x(end), axes.y(cost), stroke);
    if (!last) {
      svg += line(axes.x(end), axes.y(cost), axes.x(end),
                  axes.y(plans[k + 1]->document.cost.cost_ms), stroke);
    }
    svg += "<circle cx=\"" + svg_number(axes.x(bytes)) + "\" cy=\"" + svg_number(axes.y(cost)) +
           "\" r=\"4\" style=\"fill:var(--" + colour + ")\"><title>" +
           html_text(milliseconds(cost) + " in " + format_bytes(plans[k]->memory_bytes) + " on " +
                     std::to_string(plans[k]->document.plan.devices) + " devices") +
           "</title></circle>\n";
  }
  const int devices = plans.front()->document.plan.devices;
  return svg + label(kWidth - kRight + 8, axes.y(plans.back()->document.cost.cost_ms) + 4, "start",
                     std::to_string(devices) + (devices == 1 ? " device" : " devices"));
}

std::vector<Plans> by_devices(const FrontierReport& report) {
  std::vector<Plans> groups;
  for (const FrontierPlan& plan : report.plans) {
    if (groups.empty() ||
        groups.back().front()->document.plan.devices != plan.document.plan.devices) {
      groups.emplace_back();
    }
    groups.back().push_back(&plan);
  }
  return groups;
}

std::string chart(const FrontierReport& report) {
  const Axes axes(report);
  std::string svg = "<svg viewBox=\"0 0 " + svg_number(kWidth) + " " + svg_number(kHeight) +
                    "\" role=\"img\" aria-label=\"cost of a step against memory\">\n" + grid(axes);
  std::size_t group = 0;
  for (const Plans& plans : by_devices(report)) {
    svg += steps(axes, plans, kColours[group++ % kColours.size()]);
  }
  return svg + "</svg>\n";
}

std::string table(const FrontierReport& report) {
  std::string html =
      "<h2>Plans</h2>\n<div class=\"scroll\"><table>\n<tr><th>devices</th><th>memory of the "
      "fullest</th><th>cost</th><th>shards</th></tr>\n";
  for (const FrontierPlan& plan : report.plans) {
    html += "<tr><td>" + std::to_string(plan.document.plan.devices) + "</td><td>" +
            format_bytes(plan.memory_bytes) + "</td><td>" +
            milliseconds(plan.document.cost.cost_ms) + "</td><td>" +
            std::to_string(plan.document.plan.shards.size()) + "</td></tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace

std::string format_frontier_page(const FrontierReport& report) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<title>Frontier of sharding plans</title>\n<style>" +
         std::string(kReportStyle) +
         "</style>\n</head>\n<body>\n<h1>What more memory and more devices buy</h1>\n"
         "<p class=\"facts\">" +
         html_text(report.workload) + "<br>costs predicted by " + html_text(report.cost_origin) +
         "</p>\n<h2>What a step costs on the slowest device</h2>\n<p class=\"legend\">Each dot is "
         "a "
         "plan that no other found beats in devices, memory and cost at once.</p>\n" +
         chart(report) + table(report) + "</body>\n</html>\n";
}

}  // namespace neuroshard::io
