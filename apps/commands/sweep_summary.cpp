#include "apps/commands/sweep_summary.h"

#include <algorithm>
#include <limits>
#include <map>

#include "apps/commands/plan_report.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

using Clusters = std::vector<io::SweepCluster>;

bool has_plan(const io::SweepCluster& one) { return one.feasible; }
bool has_offloaded(const io::SweepCluster& one) { return one.offloaded > 0; }
bool has_bound(const io::SweepCluster& one) { return one.lower_bound_ms.has_value(); }

std::string percent(double share, int decimals) {
  return fixed_decimals(100 * share, decimals) + " %";
}

/// Of the costs of those that have a plan.
struct Range {
  double lowest_ms = std::numeric_limits<double>::infinity();
  double highest_ms = 0;
};
Range range_of(const Clusters& clusters) {
  Range range;
  for (const io::SweepCluster& one : clusters) {
    if (!one.feasible) continue;
    range.lowest_ms = std::min(range.lowest_ms, one.cost_ms);
    range.highest_ms = std::max(range.highest_ms, one.cost_ms);
  }
  return range;
}

/// Columns that only some sweeps have.
struct Shown {
  bool hosts = false;
  bool bounds = false;
};

/// The cells of a cluster that has a plan, as the columns below.
std::vector<std::string> cells_of(const Console& console, const io::SweepCluster& one,
                                  const Range& range, const Shown& shown, bool worth) {
  const double used =
      static_cast<double>(one.memory_bytes) / static_cast<double>(one.cluster.memory_bytes);
  std::vector<std::string> cells{std::to_string(one.cluster.devices),
                                 format_bytes(one.cluster.memory_bytes),
                                 milliseconds(one.cost_ms, range.lowest_ms),
                                 milliseconds(one.device_ms(), one.device_ms()),
                                 format_bytes(one.memory_bytes),
                                 percent(used, 0)};
  if (shown.hosts) cells.push_back(format_bytes(one.host_bytes));
  cells.push_back(std::to_string(one.shards));
  if (shown.bounds) {
    cells.push_back(has_bound(one) ? percent(above_bound(one.cost_ms, *one.lower_bound_ms), 2)
                                   : "-");
  }
  cells.push_back(
      console.bar(range.highest_ms > 0 ? one.cost_ms / range.highest_ms : 0, kBarColumns));
  cells.emplace_back(worth ? "worth it" : "");
  return cells;
}

std::string cluster_table(const Console& console, const Clusters& clusters, const Shown& shown) {
  std::vector<Column> columns{{"devices"},   {"memory each"}, {"cost ms"},
                              {"device ms"}, {"fullest"},     {"of limit"}};
  if (shown.hosts) columns.push_back({"on hosts"});
  columns.push_back({"shards"});
  if (shown.bounds) columns.push_back({"above bound"});
  columns.push_back({"", Align::kLeft});
  columns.push_back({"", Align::kLeft});
  TextTable table(columns);
  const Range range = range_of(clusters);
  const std::vector<bool> worth = io::worth_it(clusters);
  for (std::size_t index = 0; index < clusters.size(); ++index) {
    const io::SweepCluster& one = clusters[index];
    if (!one.feasible) {
      table.add(
          {std::to_string(one.cluster.devices), format_bytes(one.cluster.memory_bytes), "no plan"},
          Style::kDim);
      continue;
    }
    table.add(cells_of(console, one, range, shown, worth[index]),
              worth[index] ? Style::kBold : Style::kPlain);
  }
  return table.render(console);
}

}  // namespace

std::string size_text(const Cluster& cluster) {
  return std::to_string(cluster.devices) + " x " + format_bytes(cluster.memory_bytes);
}

std::string sweep_summary(const Console& console, const io::SweepReport& report,
                          const std::string& bounded) {
  const Clusters& clusters = report.clusters;
  const Shown shown{std::any_of(clusters.begin(), clusters.end(), has_offloaded),
                    std::any_of(clusters.begin(), clusters.end(), has_bound)};
  std::string text = cluster_table(console, clusters, shown) + "\n";
  if (std::any_of(clusters.begin(), clusters.end(), has_plan)) {
    text +=
        "cost: " +
        std::string(report.dense_model.empty() ? "the embedding part of a step" : "a whole step") +
        " on the slowest device; device ms: that times the devices\n"
        "worth it: costs less, by more than " +
        percent(io::kWorthwhile, 0) +
        ", than all others of at most as many devices with at most as much memory\n";
  }
  if (shown.hosts) text += "on hosts: bytes of tables in the memory of all hosts together\n";
  if (shown.bounds) text += "above bound: no " + bounded + " is below\n";
  for (const io::SweepCluster& one : clusters) {
    if (one.feasible) continue;
    text += "no plan on " + size_text(one.cluster) + ": " + io::printable(one.refusal) + "\n";
  }
  for (const std::string& remark : time_remarks(report)) text += remark + "\n";
  return text;
}

std::vector<std::string> time_remarks(const io::SweepReport& report) {
  const auto of_all = [&](std::int64_t count) {
    return std::to_string(count) + " of " + std::to_string(report.clusters.size());
  };
  std::vector<std::string> lines;
  std::map<std::string, int> skipped;
  for (const io::SweepCluster& one : report.clusters) ++skipped[one.skipped];
  skipped.erase("");
  for (const auto& [what, count] : skipped) {
    lines.push_back("the time limit left no room for " + what + " on " + of_all(count) +
                    " clusters, which may find better plans");
  }
  const auto ended = std::count_if(report.clusters.begin(), report.clusters.end(),
                                   [](const io::SweepCluster& one) { return one.stopped_early; });
  if (ended > 0) lines.push_back(ended_by_time(of_all(ended) + " searches", "other plans"));
  return lines;
}

}  // namespace neuroshard::apps
