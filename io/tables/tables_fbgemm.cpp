#include <algorithm>
#include <cmath>
#include <type_traits>

#include "io/json/json_writer.h"
#include "io/tables/table_forms.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr std::int64_t kMaxFbgemmTables = 100000;

/// An optional number or null; `what` says why anything but null (or 0) is refused.
Status refuse_spread(JsonObject& object, std::string_view key, const std::string& what) {
  const std::optional<JsonValue> value = object.find(key);
  if (!value || value->kind() == JsonValue::Kind::kNull) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const double spread, value->number(0));
  return spread == 0 ? Status() : value->unexpected(what);
}

/// A word that changes nothing here, or null.
Status skip_word(JsonObject& object, std::string_view key) {
  const std::optional<JsonValue> value = object.find(key);
  if (!value || value->kind() == JsonValue::Kind::kNull) return {};
  return value->text().status();
}

/// Values per table: the list `list_key`, else the one value of `key` for each of `tables`.
Result<std::vector<std::int64_t>> read_sizes(JsonObject& root, std::string_view key,
                                             std::string_view list_key, std::int64_t tables,
                                             std::int64_t high) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue one, root.at(key));
  const std::optional<JsonValue> listed = root.find(list_key);
  const bool has_list = listed && listed->kind() != JsonValue::Kind::kNull;
  const JsonValue from = has_list ? *listed : one;
  if (!from.is_array()) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t value, from.integer(1, high));
    return std::vector<std::int64_t>(static_cast<std::size_t>(tables), value);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, from.array(static_cast<std::size_t>(tables)));
  std::vector<std::int64_t> values;
  for (const JsonValue element : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t value, element.integer(1, high));
    values.push_back(value);
  }
  return values;
}

Status read_batch(JsonObject& root, TableFile& file) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject batch, root.object("batch_params"));
  NEUROSHARD_ASSIGN_OR_RETURN(file.batch_size, batch.integer("B", 1, std::int64_t{1} << 40));
  const std::string equal = "null: all tables of a plan have the same batch size";
  NEUROSHARD_RETURN_IF_ERROR(refuse_spread(batch, "sigma_B", equal));
  NEUROSHARD_RETURN_IF_ERROR(skip_word(batch, "vbe_distribution"));
  NEUROSHARD_RETURN_IF_ERROR(refuse_spread(batch, "vbe_num_ranks", equal));
  const std::optional<JsonValue> sizes = batch.find("Bs");
  if (sizes && sizes->kind() != JsonValue::Kind::kNull) {
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, sizes->array());
    for (const JsonValue size : array) {
      NEUROSHARD_RETURN_IF_ERROR(size.integer(*file.batch_size, *file.batch_size).status());
    }
  }
  return batch.finish();
}

Result<IndexLaw> read_law(const JsonValue& place) {
  IndexLaw law;
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject indices, place.object());
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray hitters, indices.array("heavy_hitters"));
  if (hitters.size() > kMaxHeavyHitters) {
    return hitters.value().error("found " + std::to_string(hitters.size()) +
                                 " heavy hitters, expected at most " +
                                 std::to_string(kMaxHeavyHitters));
  }
  double sum = 0;
  for (const JsonValue value : hitters) {
    NEUROSHARD_ASSIGN_OR_RETURN(const double probability, value.number(0, 1));
    law.heavy_hitters.push_back(probability);
    sum += probability;
  }
  if (sum > 1 + 1e-6) {
    return hitters.value().error("found probabilities that add up to " + format_number(sum) +
                                 ", expected 1 at most");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(law.zipf_q, indices.number("zipf_q", kMinZipfQ, kMaxZipfQ));
  NEUROSHARD_ASSIGN_OR_RETURN(law.zipf_s, indices.number("zipf_s", 0, kMaxZipfAlpha));
  NEUROSHARD_RETURN_IF_ERROR(skip_word(indices, "index_dtype"));
  NEUROSHARD_RETURN_IF_ERROR(skip_word(indices, "offset_dtype"));
  NEUROSHARD_RETURN_IF_ERROR(indices.finish());
  return law;
}

/// A law per table: the list `indices_params_list`, else the one of `indices_params` for each.
Result<std::vector<IndexLaw>> read_laws(JsonObject& root, std::int64_t tables) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue one, root.at("indices_params"));
  NEUROSHARD_ASSIGN_OR_RETURN(const IndexLaw law, read_law(one));
  const std::optional<JsonValue> listed = root.find("indices_params_list");
  if (!listed || listed->kind() == JsonValue::Kind::kNull) {
    return std::vector<IndexLaw>(static_cast<std::size_t>(tables), law);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array,
                              listed->array(static_cast<std::size_t>(tables)));
  std::vector<IndexLaw> laws;
  for (const JsonValue each : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(IndexLaw of_table, read_law(each));
    laws.push_back(std::move(of_table));
  }
  return laws;
}

/// What says again, or otherwise, which tables there are: null, as FBGEMM writes it.
Status refuse_other_tables(JsonObject& root) {
  for (const char* const key : {"embedding_specs", "feature_table_map"}) {
    const std::optional<JsonValue> value = root.find(key);
    if (!value || value->kind() == JsonValue::Kind::kNull) continue;
    return value->unexpected("null: Es and Ds say which tables there are");
  }
  return {};
}

/// Mean lookups per sample, per table. A spread of bag sizes around L does not change the mean.
Result<std::vector<double>> read_pooling(JsonObject& root, std::int64_t tables) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject pooling, root.object("pooling_params"));
  NEUROSHARD_ASSIGN_OR_RETURN(const double mean, pooling.number("L", 0, kMaxPoolingFactor));
  std::vector<double> factors(static_cast<std::size_t>(tables), mean);
  const std::optional<JsonValue> listed = pooling.find("Ls");
  if (listed && listed->kind() != JsonValue::Kind::kNull) {
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, listed->array(factors.size()));
    std::size_t index = 0;
    for (const JsonValue value : array) {
      NEUROSHARD_ASSIGN_OR_RETURN(factors[index++], value.number(0, kMaxPoolingFactor));
    }
  }
  if (const std::optional<JsonValue> sigma = pooling.find("sigma_L")) {
    if (sigma->kind() != JsonValue::Kind::kNull) {
      NEUROSHARD_RETURN_IF_ERROR(sigma->number(0).status());
    }
  }
  NEUROSHARD_RETURN_IF_ERROR(skip_word(pooling, "length_distribution"));
  NEUROSHARD_RETURN_IF_ERROR(pooling.finish());
  return factors;
}

/// Settings of the benchmark that say nothing about tables, but whether lookups have weights, and
/// those that rule tables out.
Result<bool> read_flags(JsonObject& root, bool has_dims) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue mixed, root.at("mixed_dim"));
  NEUROSHARD_ASSIGN_OR_RETURN(const bool mixed_dim, mixed.boolean());
  if (mixed_dim && !has_dims) {
    return mixed.unexpected("Ds with it: the benchmark draws the dims at random otherwise");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue weights, root.at("weighted"));
  NEUROSHARD_ASSIGN_OR_RETURN(const bool weighted, weights.boolean());
  if (root.has("use_cpu")) NEUROSHARD_RETURN_IF_ERROR(root.boolean("use_cpu").status());
  const std::optional<JsonValue> most = root.find("max_indices");
  if (most && most->kind() != JsonValue::Kind::kNull) {
    NEUROSHARD_RETURN_IF_ERROR(most->integer(0).status());
  }
  return weighted;
}

void write_law(JsonWriter& json, const IndexLaw& law) {
  json.begin_object(JsonWriter::Layout::kLine).key("heavy_hitters").begin_array();
  for (const double probability : law.heavy_hitters) json.number(probability);
  json.end_array().key("zipf_q").number(law.zipf_q).key("zipf_s").number(law.zipf_s);
  json.key("index_dtype").text("torch.int64").key("offset_dtype").text("torch.int64").end_object();
}

/// The list `key`, of each table; returns the mean, in whole numbers and 1 at least.
template <typename Value>
std::int64_t write_each(JsonWriter& json, std::string_view key, std::span<const Table> tables,
                        const Value& value) {
  double sum = 0;
  json.key(key).begin_array(JsonWriter::Layout::kLine);
  for (const Table& table : tables) {
    const auto of_table = value(table);
    sum += static_cast<double>(of_table);
    if constexpr (std::is_integral_v<decltype(of_table)>) {
      json.integer(of_table);
    } else {
      json.number(of_table);
    }
  }
  json.end_array();
  return std::max<std::int64_t>(1, std::llround(sum / static_cast<double>(tables.size())));
}

}  // namespace

std::string format_tbe_config(std::span<const Table> tables, std::span<const IndexLaw> laws,
                              std::int64_t batch_size) {
  JsonWriter json;
  json.begin_object().key("T").integer(std::ssize(tables));
  const auto rows = write_each(json, "Es", tables, [](const Table& table) { return table.rows; });
  const auto dim = write_each(json, "Ds", tables, [](const Table& table) { return table.dim; });
  const bool mixed = std::any_of(tables.begin(), tables.end(),
                                 [&](const Table& table) { return table.dim != tables[0].dim; });
  json.key("E").integer(rows).key("D").integer(dim).key("mixed_dim").boolean(mixed);
  json.key("weighted").boolean(false).key("batch_params").begin_object(JsonWriter::Layout::kLine);
  json.key("B").integer(batch_size).end_object().key("pooling_params").begin_object();
  const auto mean =
      write_each(json, "Ls", tables, [](const Table& table) { return table.pooling_factor; });
  json.key("L").integer(mean).end_object().key("indices_params");
  write_law(json, laws.front());
  json.key("indices_params_list").begin_array();
  for (const IndexLaw& law : laws) write_law(json, law);
  json.end_array().key("use_cpu").boolean(false).key("max_indices").null();
  json.key("embedding_specs").null().key("feature_table_map").null().end_object();
  return json.take();
}

Status read_tbe_config(const JsonValue& value, std::optional<std::int64_t> batch_size,
                       TableFile& file) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, value.object());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t tables, root.integer("T", 1, kMaxFbgemmTables));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::int64_t> rows,
                              read_sizes(root, "E", "Es", tables, kMaxInteger / 2));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::int64_t> dims,
                              read_sizes(root, "D", "Ds", tables, kMaxDim));
  const std::optional<JsonValue> dim_list = root.find("Ds");
  const bool has_dims = (*root.at("D")).is_array() || (dim_list && dim_list->is_array());
  NEUROSHARD_ASSIGN_OR_RETURN(const bool weighted, read_flags(root, has_dims));
  NEUROSHARD_RETURN_IF_ERROR(read_batch(root, file));
  if (batch_size) file.batch_size = batch_size;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<IndexLaw> laws, read_laws(root, tables));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> pooling, read_pooling(root, tables));
  NEUROSHARD_RETURN_IF_ERROR(refuse_other_tables(root));
  NEUROSHARD_RETURN_IF_ERROR(root.finish());
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const IndexLaw& law = laws[index];
    Table table;
    table.name = "table_" + std::to_string(index);
    table.rows = rows[index];
    table.dim = static_cast<std::int32_t>(dims[index]);
    table.pooling_factor = pooling[index];
    table.weighted = weighted;
    if (static_cast<std::int64_t>(law.heavy_hitters.size()) >= table.rows) {
      return value.error("table " + std::to_string(index) + " has " + std::to_string(table.rows) +
                         " rows, expected more than the " +
                         std::to_string(law.heavy_hitters.size()) + " heavy hitters");
    }
    const double lookups = static_cast<double>(*file.batch_size) * table.pooling_factor;
    table.reuse_histogram = file.derived.of(table.rows, lookups, law);
    NEUROSHARD_RETURN_IF_ERROR(check_table(value, table));
    file.tables.push_back(std::move(table));
  }
  return {};
}

}  // namespace neuroshard::io
