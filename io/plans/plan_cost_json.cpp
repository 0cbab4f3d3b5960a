#include "io/plans/plan_cost_json.h"

#include <cstddef>
#include <string>
#include <utility>

#include "engine/core/plan.h"

namespace neuroshard::io {
namespace {

/// Both keys, or neither as in older files.
Status read_cost_origin(JsonObject& object, PlanProvenance& provenance) {
  if (!object.has("hardware") && !object.has("cost_provenance")) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.hardware, object.text("hardware"));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at("cost_provenance"));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.cost_provenance, value.text());
  if (provenance.cost_provenance == "measured" || provenance.cost_provenance == "simulated") {
    return {};
  }
  return value.unexpected("'measured' or 'simulated'");
}

Status read_bandwidths(JsonObject& object, PlanProvenance& provenance) {
  constexpr std::size_t kBandwidths = 4;
  constexpr double kMinGbps = 1e-6;  // as the formula takes them
  constexpr double kMaxGbps = 1e6;
  const std::optional<JsonValue> value = object.find("bandwidths_gbps");
  if (!value) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray list, value->array(kBandwidths));
  for (const JsonValue each : list) {
    NEUROSHARD_ASSIGN_OR_RETURN(const double gbps, each.number(kMinGbps, kMaxGbps));
    provenance.bandwidths_gbps.push_back(gbps);
  }
  return {};
}

Status read_cache_hits(JsonObject& object, PlanProvenance& provenance) {
  const std::optional<JsonValue> value = object.find("cache_hits");
  if (!value) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.cache_hits, value->text());
  return provenance.cache_hits == "curve" ? Status() : value->unexpected("'curve'");
}

/// All keys, or none where costs are not of whole steps.
Status read_dense_origin(JsonObject& object, PlanProvenance& provenance) {
  if (!object.has("dense_model")) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.dense_model, object.text("dense_model"));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.dense_model_sha256, object.text("dense_model_sha256"));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.dense_hardware, object.text("dense_hardware"));
  return {};
}

}  // namespace

void write_device_costs(JsonWriter& writer, const std::vector<DeviceCost>& costs) {
  // Then of every device, whether anything of it is exposed or not.
  const bool steps = are_of_steps(costs);
  writer.begin_array();
  std::int64_t device = 0;
  for (const DeviceCost& cost : costs) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("device").integer(device++);
    writer.key("compute_ms").number(cost.compute_ms);
    writer.key("forward_comm_ms").number(cost.forward_comm_ms);
    writer.key("backward_comm_ms").number(cost.backward_comm_ms);
    if (steps) writer.key("dense_ms").number(cost.dense_ms);
    writer.key("total_ms").number(cost.total_ms());
    writer.key("memory_bytes").integer(cost.memory_bytes);
    if (cost.host_bytes > 0) writer.key("host_bytes").integer(cost.host_bytes);
    writer.key("dim_sum").integer(cost.dim_sum);
    writer.end_object();
  }
  writer.end_array();
}

void write_cost_error(JsonWriter& writer, const std::optional<CostError>& error) {
  if (!error) return;
  writer.key("cost_error").begin_object(JsonWriter::Layout::kLine);
  writer.key("share");
  if (error->share) {
    writer.number(*error->share);
  } else {
    writer.null();
  }
  writer.key("basis").text(error->basis);
  writer.end_object();
}

Status read_cost_error(JsonObject& root, std::optional<CostError>& error) {
  if (!root.has("cost_error")) return {};
  constexpr double kMost = 1e9;
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, root.object("cost_error"));
  CostError read;
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue share, object.at("share"));
  if (share.kind() != JsonValue::Kind::kNull) {
    NEUROSHARD_ASSIGN_OR_RETURN(read.share, object.number("share", 0, kMost));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(read.basis, object.text("basis"));
  error = std::move(read);
  return object.finish();
}

void write_by_models(JsonWriter& writer, const std::vector<CostByModel>& costs) {
  if (costs.empty()) return;
  writer.key("robust").begin_array();
  for (const CostByModel& one : costs) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("cost_model").text(one.cost_model);
    writer.key("cost_ms").number(one.cost_ms);
    writer.key("best_ms").number(one.best_ms);
    writer.key("regret").number(one.regret);
    writer.end_object();
  }
  writer.end_array();
}

Status read_by_models(JsonObject& root, std::vector<CostByModel>& costs) {
  const std::optional<JsonValue> list = root.find("robust");
  if (!list) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, list->array());
  for (const JsonValue value : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
    CostByModel one;
    NEUROSHARD_ASSIGN_OR_RETURN(one.cost_model, object.text("cost_model"));
    NEUROSHARD_ASSIGN_OR_RETURN(one.cost_ms, object.number("cost_ms"));
    NEUROSHARD_ASSIGN_OR_RETURN(one.best_ms, object.number("best_ms"));
    NEUROSHARD_ASSIGN_OR_RETURN(one.regret, object.number("regret"));
    NEUROSHARD_RETURN_IF_ERROR(object.finish());
    costs.push_back(std::move(one));
  }
  return {};
}

void write_provenance(JsonWriter& writer, const PlanProvenance& provenance) {
  writer.begin_object();
  writer.key("engine_version").text(provenance.engine_version);
  writer.key("cost_model").text(provenance.cost_model);
  writer.key("cost_model_sha256").text(provenance.cost_model_sha256);
  if (!provenance.bandwidths_gbps.empty()) {
    writer.key("bandwidths_gbps").begin_array(JsonWriter::Layout::kLine);
    for (const double gbps : provenance.bandwidths_gbps) writer.number(gbps);
    writer.end_array();
  }
  if (!provenance.cache_hits.empty()) writer.key("cache_hits").text(provenance.cache_hits);
  if (!provenance.cost_provenance.empty()) {
    writer.key("hardware").text(provenance.hardware);
    writer.key("cost_provenance").text(provenance.cost_provenance);
  }
  if (!provenance.dense_model.empty()) {
    writer.key("dense_model").text(provenance.dense_model);
    writer.key("dense_model_sha256").text(provenance.dense_model_sha256);
    writer.key("dense_hardware").text(provenance.dense_hardware);
  }
  writer.key("input_sha256").text(provenance.input_sha256);
  writer.key("algorithm").text(provenance.algorithm);
  writer.key("seed").unsigned_integer(provenance.seed);
  writer.end_object();
}

Status read_provenance(JsonObject& root, PlanProvenance& provenance) {
  const std::optional<JsonValue> value = root.find("provenance");
  if (!value) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value->object());
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.engine_version, object.text("engine_version"));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.cost_model, object.text("cost_model"));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.cost_model_sha256, object.text("cost_model_sha256"));
  NEUROSHARD_RETURN_IF_ERROR(read_bandwidths(object, provenance));
  NEUROSHARD_RETURN_IF_ERROR(read_cache_hits(object, provenance));
  NEUROSHARD_RETURN_IF_ERROR(read_cost_origin(object, provenance));
  NEUROSHARD_RETURN_IF_ERROR(read_dense_origin(object, provenance));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.input_sha256, object.text("input_sha256"));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.algorithm, object.text("algorithm"));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.seed, object.unsigned_integer("seed"));
  return object.finish();
}

}  // namespace neuroshard::io
