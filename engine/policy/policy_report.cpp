#include "engine/policy/train_policy.h"
#include "io/json/json_writer.h"

namespace neuroshard {
namespace {

using io::JsonWriter;

void write_options(const PolicyTrainOptions& options, JsonWriter& json) {
  json.key("options").begin_object();
  json.key("kind").text(to_string(options.kind));
  json.key("reward").text(to_string(options.reward));
  json.key("devices").begin_array(JsonWriter::Layout::kLine);
  for (const std::int32_t devices : options.tasks.devices) json.integer(devices);
  json.end_array();
  json.key("min_tables").integer(options.tasks.min_tables);
  json.key("max_tables").integer(options.tasks.max_tables);
  json.key("device_memory_bytes").integer(options.tasks.memory_bytes);
  json.key("imitations").integer(options.imitations);
  json.key("updates").integer(options.updates);
  json.key("tasks_an_update").integer(options.batch);
  json.key("episodes").integer(options.episodes);
  json.key("hidden").integer(options.hidden);
  json.key("learning_rate").number(options.learning_rate);
  json.key("entropy").number(options.entropy);
  json.key("seed").unsigned_integer(options.seed);
  json.end_object();
}

void write_origin(const PolicyOrigin& origin, JsonWriter& json) {
  json.key("cost_model").text(origin.cost_model);
  json.key("cost_model_sha256").text(origin.cost_model_sha256);
  json.key("pool_sha256").text(origin.pool_sha256);
  json.key("hardware").text(origin.hardware);
  json.key("cost_provenance").text(word_of(origin.provenance));
}

void write_rounds(const std::vector<PolicyRound>& rounds, JsonWriter& json) {
  json.key("measured_rounds").begin_array();
  for (const PolicyRound& round : rounds) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.key("plans").integer(round.plans);
    json.key("measured_ms").number(round.measured_ms);
    json.key("error").number(round.error);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string format_policy_training(const PolicyTrainOptions& options, const PolicyModel& model,
                                   const PolicyReport& report) {
  JsonWriter json;
  json.begin_object();
  json.key("format").text("neuroshard-policy-training");
  json.key("version").integer(1);
  write_origin(model.origin, json);
  write_options(options, json);
  json.key("training_tables").integer(report.training_tables);
  json.key("held_out_tables").integer(report.held_out_tables);
  json.key("validation_tasks").integer(report.validation_tasks);
  json.key("stopped_early").boolean(report.stopped_early);
  json.key("best_update").integer(report.best_update);
  json.key("best_validation_share").number(report.best_validation_share);
  json.key("curve").begin_array();
  for (const PolicyPoint& point : report.curve) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.key("update").integer(point.update);
    json.key("drawn_share").number(point.drawn_share);
    json.key("entropy").number(point.entropy);
    json.key("validation_share").number(point.validation_share);
    json.end_object();
  }
  json.end_array();
  if (!report.rounds.empty()) write_rounds(report.rounds, json);
  json.end_object();
  return json.take();
}

}  // namespace neuroshard
