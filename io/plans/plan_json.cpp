#include "io/plans/plan_json.h"

#include <limits>

#include "engine/core/hot_rows.h"
#include "engine/core/offload.h"
#include "engine/core/quoted_choices.h"
#include "io/tables/table_sharding.h"

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

Result<OffloadedTable> read_offloaded_table(const JsonValue& value) {
  constexpr std::int64_t kMostTables = std::numeric_limits<std::int32_t>::max();
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t table, object.integer("table", 0, kMostTables));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue word, object.at("compute_kernel"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, word.text());
  const Result<ComputeKernel> kernel = parse_compute_kernel(text);
  if (!kernel.ok() || *kernel == ComputeKernel::kFused) {
    return word.unexpected("'fused_uvm_caching' or 'fused_uvm'");
  }
  OffloadedTable offloaded{static_cast<std::int32_t>(table), {*kernel, 0}};
  if (*kernel == ComputeKernel::kFusedUvmCaching) {
    NEUROSHARD_ASSIGN_OR_RETURN(offloaded.kernel.load_factor, read_load_factor(object));
  }
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  return offloaded;
}

/// Lists of tables have each once and in order: `next`, read from `value`, comes behind those so
/// far.
template <typename OfTable>
Status check_order(const JsonValue& value, const std::vector<OfTable>& so_far,
                   const OfTable& next) {
  if (so_far.empty() || next.table > so_far.back().table) return {};
  return value.error("found table " + std::to_string(next.table) + " after " +
                     std::to_string(so_far.back().table) + ", expected each once and in order");
}

/// What is wrong with such a list, as a refusal or among the faults.
Status refuse_or_tell(const Status& given, const JsonValue& list,
                      std::vector<std::string>* faults) {
  if (given.ok()) return {};
  if (faults == nullptr) return list.error(given.message());
  faults->push_back(given.message());
  return {};
}

/// What is said of its lookups may be missing.
Result<HotRows> read_hot_table(const JsonValue& value, HotLookups& lookups) {
  constexpr std::int64_t kMostTables = std::numeric_limits<std::int32_t>::max();
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t table, object.integer("table", 0, kMostTables));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t rows, object.integer("rows", 1));
  if (object.has("min_count")) {
    NEUROSHARD_ASSIGN_OR_RETURN(lookups.min_count, object.integer("min_count", 0));
  }
  if (object.has("lookup_share")) {
    NEUROSHARD_ASSIGN_OR_RETURN(lookups.lookup_share, object.number("lookup_share", 0, 1));
  }
  if (object.has("cold_bag_share")) {
    NEUROSHARD_ASSIGN_OR_RETURN(lookups.cold_bag_share, object.number("cold_bag_share", 0, 1));
  }
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  return HotRows{static_cast<std::int32_t>(table), rows};
}

/// The word of one way of the exchange.
Status read_way(JsonObject& object, std::string_view key, Precision& way) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at(key));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view word, value.text());
  const Result<Precision> known = parse_precision(word);
  if (!known.ok()) return value.unexpected(quoted_choices(all_precisions()));
  way = *known;
  return {};
}

}  // namespace

void write_shards(JsonWriter& writer, Plan plan) {
  canonicalize(plan);
  writer.begin_array();
  for (const Shard& shard : plan.shards) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("table").integer(shard.table);
    write_shard_place(writer, shard);
    writer.end_object();
  }
  writer.end_array();
}

void write_shard_place(JsonWriter& writer, const Shard& shard) {
  write_range(writer, "rows", shard.row_begin, shard.row_end);
  write_range(writer, "columns", shard.column_begin, shard.column_end);
  writer.key("device");
  if (shard.device == kEveryDevice) {
    writer.text("all");
  } else {
    writer.integer(shard.device);
  }
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
    if (cost.dense_ms != 0) writer.key("dense_ms").number(cost.dense_ms);
    writer.key("total_ms").number(cost.total_ms());
    writer.key("memory_bytes").integer(cost.memory_bytes);
    if (cost.host_bytes > 0) writer.key("host_bytes").integer(cost.host_bytes);
    writer.key("dim_sum").integer(cost.dim_sum);
    writer.end_object();
  }
  writer.end_array();
}

void write_offloaded(JsonWriter& writer, const Plan& plan) {
  const std::vector<OffloadedTable> offloaded = offloaded_tables(plan);
  if (offloaded.empty()) return;
  writer.key("offloaded").begin_array();
  for (const OffloadedTable& table : offloaded) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("table").integer(table.table);
    writer.key("compute_kernel").text(to_string(table.kernel.kernel));
    if (table.kernel.load_factor > 0) {
      writer.key("cache_load_factor").number(table.kernel.load_factor);
    }
    writer.end_object();
  }
  writer.end_array();
}

Status read_offloaded(JsonObject& root, Plan& plan, std::vector<std::string>* faults) {
  const std::optional<JsonValue> list = root.find("offloaded");
  if (!list) return {};
  std::vector<OffloadedTable> offloaded;
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, list->array());
  for (const JsonValue value : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(const OffloadedTable table, read_offloaded_table(value));
    NEUROSHARD_RETURN_IF_ERROR(check_order(value, offloaded, table));
    offloaded.push_back(table);
  }
  return refuse_or_tell(give_kernels(offloaded, plan), *list, faults);
}

void write_hot_rows(JsonWriter& writer, const Plan& plan, const std::vector<HotLookups>& lookups) {
  const std::vector<HotRows> hot = hot_rows(plan);
  if (hot.empty()) return;
  const bool told = lookups.size() == hot.size();
  writer.key("hot_rows").begin_array();
  for (std::size_t k = 0; k < hot.size(); ++k) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("table").integer(hot[k].table);
    if (told) writer.key("min_count").integer(lookups[k].min_count);
    writer.key("rows").integer(hot[k].rows);
    if (told) {
      writer.key("lookup_share").number(lookups[k].lookup_share);
      writer.key("cold_bag_share").number(lookups[k].cold_bag_share);
    }
    writer.end_object();
  }
  writer.end_array();
}

Status read_hot_rows(JsonObject& root, PlanDocument& document, std::vector<std::string>* faults) {
  const std::optional<JsonValue> list = root.find("hot_rows");
  if (!list) return {};
  std::vector<HotRows> hot;
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, list->array());
  for (const JsonValue value : array) {
    HotLookups lookups;
    NEUROSHARD_ASSIGN_OR_RETURN(const HotRows own, read_hot_table(value, lookups));
    NEUROSHARD_RETURN_IF_ERROR(check_order(value, hot, own));
    hot.push_back(own);
    document.hot_lookups.push_back(lookups);
  }
  return refuse_or_tell(give_hot_rows(hot, document.plan), *list, faults);
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

Status read_exchange(JsonObject& root, ExchangeFormat& exchange) {
  const std::optional<JsonValue> value = root.find("exchange");
  if (!value) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value->object());
  NEUROSHARD_RETURN_IF_ERROR(read_way(object, "forward", exchange.forward));
  NEUROSHARD_RETURN_IF_ERROR(read_way(object, "backward", exchange.backward));
  return object.finish();
}

void write_exchange(JsonWriter& writer, const ExchangeFormat& exchange) {
  if (is_exact(exchange)) return;
  writer.key("exchange").begin_object();
  writer.key("forward").text(to_string(exchange.forward));
  writer.key("backward").text(to_string(exchange.backward));
  writer.end_object();
}

}  // namespace neuroshard::io
