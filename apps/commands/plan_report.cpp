#include "apps/commands/plan_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/search_flags.h"
#include "engine/core/algorithm_name.h"
#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/core/hot_rows.h"
#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/plan_error.h"

namespace neuroshard::apps {
namespace {

constexpr std::size_t kMostDevices = 64;   // that a table shows all of
constexpr std::size_t kSlowestShown = 16;  // of more

std::vector<std::int64_t> shards_per_device(const Plan& plan) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(plan.devices));
  for (const Shard& shard : plan.shards) {
    if (shard.device != kEveryDevice) {
      ++counts[static_cast<std::size_t>(shard.device)];
      continue;
    }
    for (std::int64_t& count : counts) ++count;
  }
  return counts;
}

/// Devices, the slowest first.
std::vector<std::size_t> by_cost(const PlanCost& cost) {
  std::vector<std::size_t> devices(cost.per_device.size());
  std::iota(devices.begin(), devices.end(), std::size_t{0});
  std::stable_sort(devices.begin(), devices.end(), [&](std::size_t a, std::size_t b) {
    return cost.per_device[a].total_ms() > cost.per_device[b].total_ms();
  });
  return devices;
}

/// "112 other devices: 1.901 to 2.012 ms, 4.77 GiB to 6.24 GiB", of all that the table does not
/// show, the slowest of them first; "" where it shows all.
std::string others_line(const PlanCost& cost, std::span<const std::size_t> others) {
  if (others.empty()) return "";
  std::int64_t least = cost.per_device[others.front()].memory_bytes;
  std::int64_t most = least;
  for (const std::size_t d : others) {
    least = std::min(least, cost.per_device[d].memory_bytes);
    most = std::max(most, cost.per_device[d].memory_bytes);
  }
  const auto total = [&](std::size_t d) {
    return milliseconds(cost.per_device[d].total_ms(), cost.cost_ms);
  };
  return counted(std::ssize(others), "other device") + ": " + total(others.back()) + " to " +
         total(others.front()) + " ms, " + format_bytes(least) + " to " + format_bytes(most) + "\n";
}

}  // namespace

std::string milliseconds(double value, double largest) {
  const int decimals = largest >= 1000 ? 0 : largest >= 100 ? 1 : largest >= 10 ? 2 : 3;
  return fixed_decimals(value, largest < 1 ? 4 : decimals);
}

std::string cost_text(double cost_ms, const CostError& error) {
  const std::string cost = "plan cost " + milliseconds(cost_ms, cost_ms) + " ms";
  return error.share ? cost + " " + error_text(error) : cost;
}

std::string error_line(const CostError& error) {
  return (error.share ? "error: " : error_text(error) + ": ") + error.basis + "\n";
}

std::string comparison_text(double other_ms, double cost_ms, const CostError& error) {
  if (other_ms == cost_ms) return "equally good";
  if (!(other_ms > 0)) return cost_ms < other_ms ? "cheaper" : "dearer";
  const double percent = 100 * (1 - cost_ms / other_ms);
  const std::string size = fixed_decimals(std::abs(percent), 1);
  if (size == "0.0") return "equally good";
  const std::string change = size + (percent > 0 ? " % cheaper" : " % dearer");
  if (within_error(error, other_ms, cost_ms)) return "within the model's error (" + change + ")";
  return change;
}

std::string robust_text(const Console& console, std::span<const NamedCostModels> models,
                        const RobustPlan& plan) {
  TextTable table({{"by cost model", Align::kLeft},
                   {"cost ms"},
                   {"best known ms"},
                   {"regret"},
                   {"error", Align::kLeft}});
  double largest = 0;
  for (std::size_t k = 0; k < models.size(); ++k) {
    const RobustCost& own = plan.costs[k];
    largest = std::max(largest, own.regret());
    table.add({models[k].name, milliseconds(own.cost.cost_ms, own.best_ms),
               milliseconds(own.best_ms, own.best_ms), fixed_decimals(100 * own.regret(), 2) + " %",
               error_text(error_of(models[k].models, own.cost))});
  }
  return "\n" + table.render(console) + "largest regret " + fixed_decimals(100 * largest, 2) +
         " %: the plan's cost by a model, over the least that any plan seen costs by it\n";
}

std::string plan_table(const Console& console, const Plan& plan, const PlanCost& cost,
                       std::int64_t memory_limit) {
  const bool offloaded = has_offloaded(plan);
  const bool steps = are_of_steps(cost.per_device);
  std::vector<Column> columns{
      {"device"}, {"shards"}, {"compute ms"}, {"forward ms"}, {"backward ms"}};
  if (steps) columns.push_back({"dense ms"});
  columns.insert(columns.end(), {{"total ms"}, {"memory"}, {"of limit"}});
  if (offloaded) columns.push_back({"on host"});
  columns.push_back({"", Align::kLeft});
  columns.push_back({"", Align::kLeft});
  TextTable table(columns);
  const std::vector<std::int64_t> shards = shards_per_device(plan);
  const std::vector<std::size_t> slowest_first = by_cost(cost);
  const std::size_t slowest = slowest_first.front();
  std::vector<std::size_t> shown = slowest_first;
  if (shown.size() > kMostDevices) {
    shown.resize(kSlowestShown);
  } else {
    std::sort(shown.begin(), shown.end());
  }
  for (const std::size_t d : shown) {
    const DeviceCost& device = cost.per_device[d];
    const double used =
        static_cast<double>(device.memory_bytes) / static_cast<double>(memory_limit);
    std::vector<std::string> cells{std::to_string(d), std::to_string(shards[d]),
                                   milliseconds(device.compute_ms, cost.cost_ms),
                                   milliseconds(device.forward_comm_ms, cost.cost_ms),
                                   milliseconds(device.backward_comm_ms, cost.cost_ms)};
    if (steps) cells.push_back(milliseconds(device.dense_ms, cost.cost_ms));
    cells.insert(cells.end(),
                 {milliseconds(device.total_ms(), cost.cost_ms), format_bytes(device.memory_bytes),
                  fixed_decimals(100 * used, 0) + " %"});
    if (offloaded) cells.push_back(format_bytes(device.host_bytes));
    cells.push_back(console.bar(device.total_ms() / cost.cost_ms, kBarColumns));
    cells.push_back(d == slowest ? "slowest" : "");
    table.add(cells, d == slowest ? Style::kBold : Style::kPlain);
  }
  return table.render(console) + others_line(cost, std::span(slowest_first).subspan(shown.size()));
}

std::string offloaded_text(const Workload& workload, const Plan& plan) {
  const std::vector<OffloadedTable> offloaded = offloaded_tables(plan);
  if (offloaded.empty()) return "";
  std::int64_t bytes = 0;
  for (const std::int64_t own : device_host_bytes(workload, plan)) bytes += own;
  const auto cached =
      std::count_if(offloaded.begin(), offloaded.end(), [](const OffloadedTable& table) {
        return table.kernel.kernel == ComputeKernel::kFusedUvmCaching;
      });
  return counted(std::ssize(offloaded), "table") + " in host memory, " + format_bytes(bytes) +
         ", " + std::to_string(cached) + " with a cache on the device\n";
}

std::string hot_rows_text(const Workload& workload, const Plan& plan) {
  const std::vector<HotRows> all = hot_rows(plan);
  if (all.empty()) return "";
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  double lookups = 0;
  double local = 0;
  for (const HotRows& hot : all) {
    const Table& table = workload.tables[static_cast<std::size_t>(hot.table)];
    rows += hot.rows;
    bytes += hot_row_bytes(table, hot.rows);
    lookups += table.pooling_factor;
    local += table.pooling_factor * lookup_parts(table, hot.rows, workload.batch_size).hot_share;
  }
  return counted(std::ssize(all), "table") + " with hot rows on every device, " +
         counted(rows, "row") + ", " + format_bytes(bytes) +
         " of each: " + general_decimals(100 * local / lookups, 3) +
         " % of the lookups in these tables\n";
}

std::string describe_workload(const Workload& workload, const StepMemory& step) {
  return counted(std::ssize(workload.tables), "table") + ", " + describe_bytes(workload, step) +
         ", batch " + with_commas(workload.batch_size);
}

std::string ended_by_time(const std::string& searches, const std::string& others) {
  return "time ended " + searches + ", the next run may find " + others +
         ": --evaluations makes it repeatable";
}

std::string result_text(const Console& console, const Workload& workload, const Cluster& cluster,
                        const NamedCostModels& models, const PlanResult& result) {
  const CostError error = error_of(models.models, result.cost);
  return describe_workload(workload, step_memory(workload, cluster)) + ", on " +
         counted(cluster.devices, "device") + " of " + format_bytes(cluster.memory_bytes) +
         "\ncost model " + describe(models) + "\n\n" +
         plan_table(console, result.plan, result.cost, cluster.memory_bytes) + "\n" +
         console.paint(cost_text(result.cost.cost_ms, error), Style::kBold) + " (" +
         display_name(result.algorithm) + ", " + counted(std::ssize(result.plan.shards), "shard") +
         ", " + counted(result.evaluations, "plan") + " evaluated in " +
         fixed_decimals(result.seconds, 3) + " s)\n" + error_line(error);
}

std::optional<double> bound_of(std::optional<double> known, const Workload& workload,
                               const Cluster& cluster, const CostModels& models,
                               const PlanOptions& options, search::BoundEffort effort) {
  const auto computed = cost_lower_bound(workload, cluster, models, options.row_splits,
                                         options.data_parallel, effort);
  if (computed.ok() && *computed) known = std::max(known.value_or(0), **computed);
  return known && *known > 0 ? known : std::nullopt;
}

double above_bound(double cost_ms, double bound_ms) {
  return std::max(0.0, cost_ms / bound_ms - 1);
}

std::string bound_text(std::optional<double> bound, double cost_ms, const Cluster& cluster,
                       const CostModels& models, const PlanOptions& options) {
  if (!bound) return "";
  return "at most " + fixed_decimals(100 * above_bound(cost_ms, *bound), 2) + " % above the best " +
         bounded_plans(models, cluster, options) + " (a lower bound of " +
         milliseconds(*bound, cost_ms) + " ms)\n";
}

std::string data_parallel_text(std::optional<double> without, const Workload& workload,
                               const Cluster& cluster, const CostModels& models,
                               const PlanOptions& options) {
  constexpr double kWorthALine = 0.02;
  if (options.data_parallel || !capabilities(models).replicas || cluster.devices == 1) return "";
  if (!makes_row_shards({&options.algorithm, 1})) return "";
  PlanOptions with = options;
  with.data_parallel = true;
  const std::optional<double> bound =
      bound_of({}, workload, cluster, models, with, search::BoundEffort::kQuick);
  if (!without || !bound || *bound > (1 - kWorthALine) * *without) return "";
  return "with --data-parallel on, tables may be whole on every device: the lower bound is then " +
         milliseconds(*bound, *without) + " ms\n";
}

std::string bounded_plans(const CostModels& models, const Cluster& cluster,
                          const PlanOptions& options) {
  const std::int32_t devices = cluster.devices;
  const Capabilities known = capabilities(models);
  const bool by_rows =
      devices > 1 && std::min(options.row_splits, known.row_splits) != RowSplits::kOff;
  const bool by_hosts = by_rows && known.hosts && host_devices(cluster) > 1;
  const bool replicas = devices > 1 && options.data_parallel && known.replicas;
  std::vector<std::string> others;
  if (replicas) others.emplace_back("data-parallel ones");
  if (by_rows) others.emplace_back("row-wise ones");
  std::string plans = "plan of tables whole or in columns by multiples of 4";
  for (const std::string& other : others) {
    plans += (&other == &others.back() ? ", and " : ", ") + other;
  }
  if (by_rows) {
    plans += by_hosts ? ", over all devices or a host's, with rows for each"
                      : " with rows for every device";
  }
  return plans + (cluster.host_memory_bytes > 0
                      ? ", in device or host memory, with caches of 1 to 99 % of the rows"
                      : "");
}

}  // namespace neuroshard::apps
