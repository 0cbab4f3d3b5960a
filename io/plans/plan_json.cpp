#include "io/plans/plan_json.h"

#include <limits>
#include <optional>

#include "engine/core/hot_rows.h"
#include "engine/core/offload.h"
#include "engine/core/quoted_choices.h"
#include "io/tables/table_sharding.h"

namespace neuroshard::io {
namespace {

void write_range(JsonWriter& writer, const char* name, std::int64_t begin, std::int64_t end) {
  writer.key(name).begin_array().integer(begin).integer(end).end_array();
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
