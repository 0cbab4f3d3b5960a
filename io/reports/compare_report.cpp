#include "io/reports/compare_report.h"

#include "io/json/json_writer.h"
#include "io/plans/plan_cost_json.h"
#include "io/plans/plan_json.h"

namespace neuroshard::io {
namespace {

void write_result(JsonWriter& writer, const CompareResult& result) {
  writer.begin_object();
  writer.key("feasible").boolean(result.feasible);
  writer.key("cost_ms");
  if (result.feasible) {
    writer.number(result.cost.cost_ms);
  } else {
    writer.null();
  }
  write_cost_error(writer, result.cost_error);
  writer.key("seconds").number(result.seconds);
  if (!result.skipped.empty()) writer.key("skipped").text(result.skipped);
  writer.key("shards");
  write_shards(writer, result.feasible ? result.plan : Plan{});
  write_offloaded(writer, result.plan);
  write_hot_rows(writer, result.plan);
  writer.key("per_device");
  write_device_costs(writer, result.feasible ? result.cost.per_device : std::vector<DeviceCost>{});
  writer.end_object();
}

void write_task(JsonWriter& writer, const CompareTask& task,
                const std::vector<std::string>& algorithms) {
  writer.begin_object();
  writer.key("index").integer(task.index);
  writer.key("tables").integer(task.tables);
  write_exchange(writer, task.exchange);
  writer.key("results").begin_object();
  for (const std::string& algorithm : algorithms) {
    const auto result = task.results.find(algorithm);
    if (result == task.results.end()) continue;
    writer.key(algorithm);
    write_result(writer, result->second);
  }
  writer.end_object().end_object();
}

void write_mean(JsonWriter& writer, const char* key, const std::optional<double>& mean) {
  writer.key(key);
  if (mean) {
    writer.number(*mean);
  } else {
    writer.null();
  }
}

}  // namespace

CompareSummary summarize(const CompareReport& report, const std::string& algorithm) {
  CompareSummary summary;
  double cost_ms = 0;
  double seconds = 0;
  std::int64_t tasks = 0;
  for (const CompareTask& task : report.tasks) {
    const auto result = task.results.find(algorithm);
    if (result == task.results.end()) continue;
    ++tasks;
    seconds += result->second.seconds;
    if (!result->second.feasible) continue;
    ++summary.feasible_tasks;
    cost_ms += result->second.cost.cost_ms;
  }
  if (summary.feasible_tasks > 0) {
    summary.mean_cost_ms = cost_ms / static_cast<double>(summary.feasible_tasks);
  }
  if (tasks > 0) summary.mean_seconds = seconds / static_cast<double>(tasks);
  return summary;
}

std::string format_compare(const CompareReport& report) {
  JsonWriter writer;
  writer.begin_object();
  writer.key("devices").integer(report.devices);
  writer.key("cost_model").text(report.cost_model);
  writer.key("hardware").text(report.hardware);
  writer.key("cost_provenance").text(report.cost_provenance);
  writer.key("algorithms").begin_array(JsonWriter::Layout::kLine);
  for (const std::string& algorithm : report.algorithms) writer.text(algorithm);
  writer.end_array();
  writer.key("tasks").begin_array();
  for (const CompareTask& task : report.tasks) write_task(writer, task, report.algorithms);
  writer.end_array();
  writer.key("summary").begin_object();
  for (const std::string& algorithm : report.algorithms) {
    const CompareSummary summary = summarize(report, algorithm);
    writer.key(algorithm).begin_object(JsonWriter::Layout::kLine);
    writer.key("feasible_tasks").integer(summary.feasible_tasks);
    write_mean(writer, "mean_cost_ms", summary.mean_cost_ms);
    write_mean(writer, "mean_seconds", summary.mean_seconds);
    writer.end_object();
  }
  writer.end_object().end_object();
  return writer.take();
}

}  // namespace neuroshard::io
