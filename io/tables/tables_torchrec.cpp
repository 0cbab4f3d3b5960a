#include <algorithm>
#include <string>

#include "io/tables/table_forms.h"
#include "io/tables/table_sharding.h"

namespace neuroshard::io {
namespace {

/// TorchRec's names of data types, in either case.
Result<DataType> parse_torchrec_type(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return parse_data_type(lower);
}

std::string torchrec_type_words() { return "'FP32', 'FP16', 'BF16' or 'INT8'"; }

/// One factor a feature; a table looks up the rows of all its features, each with an output.
Status read_pooling_factors(JsonObject& object, Table& table) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray factors, object.array("pooling_factors"));
  for (const JsonValue value : factors) {
    NEUROSHARD_ASSIGN_OR_RETURN(const double factor, value.number(0, kMaxPoolingFactor));
    table.pooling_factor += factor;
  }
  std::size_t features = factors.size();
  if (const std::optional<JsonValue> names = object.find("feature_names")) {
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, names->array());
    for (const JsonValue name : array) NEUROSHARD_RETURN_IF_ERROR(name.text().status());
    features = array.size();
  }
  if (factors.size() == 0 || factors.size() != features) {
    return factors.value().error("found " + std::to_string(factors.size()) +
                                 " factors, expected one for each of the " +
                                 std::to_string(features) + " feature_names");
  }
  if (features > kMaxFeatures) {
    return factors.value().error("found " + std::to_string(features) +
                                 " features, expected at most " + std::to_string(kMaxFeatures));
  }
  table.features = static_cast<std::int32_t>(features);
  return {};
}

/// What TorchRec knows and plans here do not depend on, but must be well-formed.
Status read_pooling_type(JsonObject& object) {
  const std::optional<JsonValue> value = object.find("pooling");
  if (!value) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, value->text());
  if (text == "SUM" || text == "MEAN") return {};
  return value->unexpected("'SUM' or 'MEAN'");
}

Status read_config(const JsonValue& value, std::int64_t batch_size, TableFile& file) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  Table table;
  NEUROSHARD_ASSIGN_OR_RETURN(table.name, object.text("name"));
  NEUROSHARD_ASSIGN_OR_RETURN(table.rows, object.integer("num_embeddings", 1));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t dim, object.integer("embedding_dim", 1, kMaxDim));
  table.dim = static_cast<std::int32_t>(dim);
  NEUROSHARD_RETURN_IF_ERROR(read_pooling_factors(object, table));
  NEUROSHARD_RETURN_IF_ERROR(read_pooling_type(object));
  NEUROSHARD_RETURN_IF_ERROR(
      read_word(object, "data_type", parse_torchrec_type, torchrec_type_words, table.data_type));
  NEUROSHARD_RETURN_IF_ERROR(read_optimizer(object, table));
  NEUROSHARD_RETURN_IF_ERROR(read_flag(object, "is_weighted", table.weighted));
  NEUROSHARD_RETURN_IF_ERROR(read_flag(object, "is_pooled", table.pooled));
  NEUROSHARD_RETURN_IF_ERROR(read_torchrec_sharding(object, table));
  return finish_table(object, value, batch_size, std::move(table), file);
}

}  // namespace

Status read_torchrec_tables(const JsonValue& root, std::optional<std::int64_t> batch_size,
                            TableFile& file) {
  JsonValue tables = root;
  if (root.is_object()) {
    NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, root.object());
    NEUROSHARD_RETURN_IF_ERROR(read_batch_size(object, batch_size, file));
    NEUROSHARD_ASSIGN_OR_RETURN(tables, object.at("tables"));
    NEUROSHARD_RETURN_IF_ERROR(object.finish());
  }
  if (batch_size) file.batch_size = batch_size;
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, tables.array());
  return read_each_table(array, read_config, file);
}

}  // namespace neuroshard::io
