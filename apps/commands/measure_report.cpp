#include "apps/commands/measure_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "apps/commands/plan_report.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/exchange_flag.h"
#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "io/json/json_writer.h"
#include "io/plans/plan_cost_json.h"
#include "io/plans/plan_json.h"

namespace neuroshard::apps {
namespace {

/// "measured" or "simulated": where compute times come from, and exchanges that are not predicted.
std::string origin_of_times(const MeasureOutcome& outcome) {
  return outcome.profile.empty() ? "measured" : "simulated";
}

std::string measurement_table(const Console& console, const MeasureOutcome& outcome) {
  std::vector<Column> columns{{"device"},      {"shards"},     {"lookup forward ms"},
                              {"backward ms"}, {"compute ms"}, {"exchange forward ms"},
                              {"backward ms"}, {"total ms"}};
  if (outcome.predicted) {
    columns.push_back({"predicted compute ms"});
    columns.push_back({"error"});
  }
  TextTable table(columns);
  const double largest = outcome.measurement.cost.cost_ms;
  for (std::size_t d = 0; d < outcome.measurement.compute.size(); ++d) {
    const DeviceCost& device = outcome.measurement.cost.per_device[d];
    const ComputeTime& compute = outcome.measurement.compute[d];
    const auto shards =
        std::count_if(outcome.plan.shards.begin(), outcome.plan.shards.end(), [&](const Shard& s) {
          return s.device == kEveryDevice || s.device == static_cast<std::int32_t>(d);
        });
    std::vector<std::string> cells{std::to_string(d), std::to_string(shards)};
    for (const double ms : {compute.forward_ms, compute.backward_ms, device.compute_ms,
                            device.forward_comm_ms, device.backward_comm_ms, device.total_ms()}) {
      cells.push_back(milliseconds(ms, largest));
    }
    if (outcome.predicted) {
      const double predicted = outcome.predicted->per_device[d].compute_ms;
      cells.push_back(milliseconds(predicted, largest));
      const bool known = device.compute_ms > 0;  // a simulated device without tables takes nothing
      cells.push_back(known ? fixed_decimals(100 * (predicted / device.compute_ms - 1), 1) + " %"
                            : "-");
    }
    table.add(std::move(cells), device.total_ms() >= largest ? Style::kBold : Style::kPlain);
  }
  return table.render(console);
}

/// Where the figures come from, a line each.
std::string origin_lines(const MeasureOutcome& outcome) {
  const std::string batch = "\nbatch " + with_commas(outcome.batch_size);
  if (!outcome.profile.empty()) {
    const bool hosts = outcome.devices_per_host < outcome.plan.devices;
    return "compute and communication SIMULATED for " + outcome.profile +
           (hosts ? ", hosts of " + std::to_string(outcome.devices_per_host) : "") + "\n" +
           outcome.description + batch + "\n" + exchange_text(outcome.exchange);
  }
  return "compute measured on " + outcome.hardware +
         (outcome.measurement.at_once ? ", a GPU for every device, all at once"
                                      : ", one device's shards after the other's") +
         "\ncommunication " +
         (outcome.measurement.comm_measured ? "measured"
                                            : "predicted by " + describe(*outcome.models)) +
         batch + ", median of " + counted(outcome.runs, "run") + "\n";
}

std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

/// Of plans with hot rows: what went between the ranks.
std::string bytes_line(const PlanMeasurement& measurement) {
  if (measurement.exchanged_bytes.empty()) return "";
  return "between ranks, a step: " + format_bytes(sum_of(measurement.exchanged_bytes)) +
         " of sums and gradients of cold rows, " + format_bytes(sum_of(measurement.reduced_bytes)) +
         " of gradients of hot rows\nhot rows run in plain code: their times are not to be held "
         "against those of plans without\n";
}

void write_bytes(io::JsonWriter& json, const char* key, const std::vector<std::int64_t>& values) {
  if (values.empty()) return;
  json.key(key).begin_array(io::JsonWriter::Layout::kLine);
  for (const std::int64_t bytes : values) json.integer(bytes);
  json.end_array();
}

}  // namespace

std::string measure_report(const Console& console, const MeasureOutcome& outcome) {
  std::string text = origin_lines(outcome);
  if (!outcome.conditions.empty()) text += "at the end: " + outcome.conditions + "\n";
  text += "\n" + measurement_table(console, outcome) + "\n";
  text += bytes_line(outcome.measurement);
  const double cost = outcome.measurement.cost.cost_ms;
  text += console.paint("plan cost " + milliseconds(cost, cost) + " ms", Style::kBold);
  text += outcome.measurement.comm_measured ? " (" + origin_of_times(outcome) + ")"
                                            : " (compute measured, communication predicted)";
  if (outcome.predicted) {
    text += ", predicted " + milliseconds(outcome.predicted->cost_ms, cost) + " ms by " +
            describe(*outcome.models);
  }
  return text + "\n";
}

std::string measure_json(const MeasureOutcome& outcome, const std::string& backend) {
  io::JsonWriter json;
  json.begin_object();
  json.key("format").text("neuroshard-measurement");
  json.key("version").integer(1);
  json.key("backend").text(backend);
  json.key("hardware").text(outcome.hardware);
  json.key("conditions").text(outcome.conditions);
  json.key("batch_size").integer(outcome.batch_size);
  json.key("devices").integer(outcome.plan.devices);
  if (outcome.devices_per_host > 0) {
    json.key("devices_per_host").integer(outcome.devices_per_host);
  }
  io::write_exchange(json, outcome.exchange);
  json.key("runs").integer(outcome.runs);
  json.key("seed").unsigned_integer(outcome.seed);
  json.key("plan_sha256").text(outcome.plan_sha256);
  json.key("tables_sha256").text(outcome.tables_sha256);
  const std::string origin = origin_of_times(outcome);
  if (outcome.calibrated) json.key("simulation").text("calibrated");
  json.key("compute").text(origin);
  json.key("communication").text(outcome.measurement.comm_measured ? origin : "predicted");
  json.key("cost_model").text(outcome.models ? outcome.models->name : "");
  if (outcome.models) {
    const ModelOrigin model = origin_of(outcome.models->models);
    json.key("cost_model_hardware").text(model.hardware);
    json.key("cost_model_provenance").text(word_of(model.provenance));
  }
  json.key("cost_ms").number(outcome.measurement.cost.cost_ms);
  json.key("per_device");
  io::write_device_costs(json, outcome.measurement.cost.per_device);
  write_bytes(json, "exchanged_bytes", outcome.measurement.exchanged_bytes);
  write_bytes(json, "reduced_bytes", outcome.measurement.reduced_bytes);
  if (outcome.predicted) {
    json.key("predicted_cost_ms").number(outcome.predicted->cost_ms);
    json.key("predicted_per_device");
    io::write_device_costs(json, outcome.predicted->per_device);
  }
  json.end_object();
  return json.take();
}

}  // namespace neuroshard::apps
