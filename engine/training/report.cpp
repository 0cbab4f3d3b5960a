#include "engine/training/report.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/core/decimal.h"
#include "io/json/json_writer.h"

namespace neuroshard {
namespace {

// Costs span orders of magnitude: four significant digits, without an exponent where possible.
std::string significant(double value) {
  return value < 1e6 ? general_decimals(value, 4) : fixed_decimals(value, 0);
}

void add_metrics(const std::string& part, const Metrics& metrics,
                 std::vector<std::pair<std::string, std::string>>& rows) {
  const std::vector<std::string> cells = metrics_cells(metrics);
  rows.emplace_back(part + " MSE (ms^2)", cells[0]);
  rows.emplace_back(part + " MAPE", cells[1]);
  rows.emplace_back(part + " Kendall's tau", cells[2]);
  if (!std::isnan(metrics.half_width)) {
    rows.emplace_back(part + " 90 % within", fixed_decimals(100 * metrics.half_width, 2) + " %");
  }
}

void write_members(const Metrics& metrics, io::JsonWriter& json) {
  json.key("count").integer(metrics.count);
  json.key("mse_ms2").number(metrics.mse);
  json.key("mape").number(metrics.mape);
  json.key("kendall_tau").number(metrics.tau);
  json.key("error_90").number(metrics.half_width);
}

void write_metrics(std::string_view key, const Metrics& metrics, io::JsonWriter& json) {
  json.key(key).begin_object(io::JsonWriter::Layout::kLine);
  write_members(metrics, json);
  json.end_object();
}

/// Of an evaluation, also how well the cost model knows its error.
void write_evaluated(std::string_view key, const Metrics& metrics, io::JsonWriter& json) {
  json.key(key).begin_object(io::JsonWriter::Layout::kLine);
  write_members(metrics, json);
  json.key("interval_share").number(metrics.interval);
  json.key("interval_coverage").number(metrics.coverage);
  json.end_object();
}

void write_curve(const std::vector<EpochPoint>& curve, io::JsonWriter& json) {
  json.key("curve").begin_array();
  for (const EpochPoint& point : curve) {
    json.begin_object(io::JsonWriter::Layout::kLine);
    json.key("epoch").integer(point.epoch);
    json.key("train_loss").number(point.train_loss);
    json.key("validation_loss").number(point.validation_loss);
    json.key("validation_mse_ms2").number(point.validation_mse);
    json.end_object();
  }
  json.end_array();
}

void write_report(const TrainReport& report, io::JsonWriter& json) {
  json.begin_object();
  json.key("options").begin_object();
  for (const auto& [name, value] : report.options) json.key(name).text(value);
  json.end_object();
  json.key("samples").begin_object(io::JsonWriter::Layout::kLine);
  json.key("train").integer(report.train_samples);
  json.key("validation").integer(report.validation_samples);
  json.key("test").integer(report.test_samples);
  json.end_object();
  json.key("best_epoch").integer(report.best_epoch);
  write_metrics("validation", report.validation, json);
  write_metrics("test", report.test, json);
  write_curve(report.curve, json);
  json.end_object();
}

void write_data_origin(const ModelOrigin& data, io::JsonWriter& json) {
  json.key("data_hardware").text(data.hardware);
  json.key("data_provenance").text(word_of(data.provenance));
}

}  // namespace

std::vector<std::string> metrics_cells(const Metrics& metrics) {
  const auto known = [](double value, std::string text) {
    return std::isnan(value) ? "-" : std::move(text);
  };
  return {known(metrics.mse, significant(metrics.mse)),
          known(metrics.mape, fixed_decimals(100 * metrics.mape, 2) + " %"),
          known(metrics.tau, fixed_decimals(metrics.tau, 4))};
}

std::vector<std::pair<std::string, std::string>> report_rows(const TrainReport& report) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"samples", std::to_string(report.train_samples) + " to train, " +
                      std::to_string(report.validation_samples) + " to validate, " +
                      std::to_string(report.test_samples) + " to test"},
      {"best epoch",
       std::to_string(report.best_epoch) + " of " + std::to_string(report.curve.size())},
  };
  add_metrics("validation", report.validation, rows);
  add_metrics("test", report.test, rows);
  return rows;
}

std::vector<std::vector<std::string>> curve_rows(const TrainReport& report, std::size_t rows) {
  std::vector<std::vector<std::string>> lines;
  const std::size_t epochs = report.curve.size();
  const std::size_t shown = std::min(rows, epochs);
  std::vector<std::size_t> picks;
  for (std::size_t k = 0; k < shown; ++k) picks.push_back((k + 1) * epochs / shown - 1);
  if (shown > 1 && report.best_epoch > 0) {
    // The best epoch takes the place of the pick nearest to it, but never of the last.
    const auto best = static_cast<std::size_t>(report.best_epoch) - 1;
    const auto distance = [&](std::size_t p) { return p > best ? p - best : best - p; };
    auto nearest =
        std::min_element(picks.begin(), picks.end() - 1,
                         [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
    if (best != picks.back()) *nearest = best;
  }
  for (const std::size_t k : picks) {
    const EpochPoint& point = report.curve[k];
    lines.push_back({std::to_string(point.epoch), significant(point.train_loss),
                     significant(point.validation_loss), significant(point.validation_mse),
                     point.epoch == report.best_epoch ? "best" : ""});
  }
  return lines;
}

std::string format_training(const std::vector<std::pair<std::string, const TrainReport*>>& networks,
                            const ModelOrigin& data) {
  io::JsonWriter json;
  json.begin_object();
  json.key("format").text("neuroshard-training");
  json.key("version").integer(1);
  write_data_origin(data, json);
  json.key("networks").begin_object();
  for (const auto& [name, report] : networks) {
    json.key(name);
    write_report(*report, json);
  }
  json.end_object();
  json.end_object();
  return json.take();
}

std::string format_evaluation(const std::vector<std::pair<std::string, Metrics>>& networks,
                              const NamedCostModels& models, const ModelOrigin& data) {
  io::JsonWriter json;
  json.begin_object();
  json.key("format").text("neuroshard-evaluation");
  json.key("version").integer(1);
  const ModelOrigin origin = origin_of(models.models);
  json.key("cost_model").text(models.name);
  json.key("hardware").text(origin.hardware);
  json.key("cost_provenance").text(word_of(origin.provenance));
  write_data_origin(data, json);
  json.key("networks").begin_object();
  for (const auto& [name, metrics] : networks) write_evaluated(name, metrics, json);
  json.end_object();
  json.end_object();
  return json.take();
}

}  // namespace neuroshard
