#include "io/plans/plan_json.h"

namespace neuroshard::io {
namespace {

void write_range(JsonWriter& writer, const char* name, std::int64_t begin, std::int64_t end) {
  writer.key(name).begin_array().integer(begin).integer(end).end_array();
}

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

}  // namespace

void write_shards(JsonWriter& writer, Plan plan) {
  canonicalize(plan);
  writer.begin_array();
  for (const Shard& shard : plan.shards) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("table").integer(shard.table);
    write_range(writer, "rows", shard.row_begin, shard.row_end);
    write_range(writer, "columns", shard.column_begin, shard.column_end);
    writer.key("device");
    if (shard.device == kEveryDevice) {
      writer.text("all");
    } else {
      writer.integer(shard.device);
    }
    writer.end_object();
  }
  writer.end_array();
}

void write_device_costs(JsonWriter& writer, const std::vector<DeviceCost>& costs) {
  writer.begin_array();
  std::int64_t device = 0;
  for (const DeviceCost& cost : costs) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("device").integer(device++);
    writer.key("compute_ms").number(cost.compute_ms);
    writer.key("forward_comm_ms").number(cost.forward_comm_ms);
    writer.key("backward_comm_ms").number(cost.backward_comm_ms);
    writer.key("total_ms").number(cost.total_ms());
    writer.key("memory_bytes").integer(cost.memory_bytes);
    writer.key("dim_sum").integer(cost.dim_sum);
    writer.end_object();
  }
  writer.end_array();
}

void write_provenance(JsonWriter& writer, const PlanProvenance& provenance) {
  writer.begin_object();
  writer.key("engine_version").text(provenance.engine_version);
  writer.key("cost_model").text(provenance.cost_model);
  writer.key("cost_model_sha256").text(provenance.cost_model_sha256);
  if (!provenance.cost_provenance.empty()) {
    writer.key("hardware").text(provenance.hardware);
    writer.key("cost_provenance").text(provenance.cost_provenance);
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
  NEUROSHARD_RETURN_IF_ERROR(read_cost_origin(object, provenance));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.input_sha256, object.text("input_sha256"));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.algorithm, object.text("algorithm"));
  NEUROSHARD_ASSIGN_OR_RETURN(provenance.seed, object.unsigned_integer("seed"));
  return object.finish();
}

}  // namespace neuroshard::io
