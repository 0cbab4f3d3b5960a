#include "io/tables/tables.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "engine/core/quoted_choices.h"
#include "io/file.h"
#include "io/json/json.h"
#include "io/sha256.h"
#include "io/tables/table_forms.h"
#include "io/tables/table_sharding.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr std::string_view kFormat = "neuroshard-tables";
constexpr std::int64_t kVersion = 1;

std::string data_type_words() { return quoted_choices(all_data_types()); }

Status read_histogram(const JsonValue& value, ReuseHistogram& histogram) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray shares, value.array(kReuseBins));
  std::size_t bin = 0;
  for (const JsonValue share : shares) {
    NEUROSHARD_ASSIGN_OR_RETURN(histogram[bin++], share.number(0, 1));
  }
  return {};
}

std::string bag_length_words() { return quoted_choices(all_bag_lengths()); }

/// What was counted of hot rows, beside the histogram of the same batch.
Status read_hot_coverage(JsonObject& object, bool has_histogram, Table& table) {
  NEUROSHARD_RETURN_IF_ERROR(
      read_word(object, "bag_lengths", parse_bag_lengths, bag_length_words, table.bag_lengths));
  const std::optional<JsonValue> lookups = object.find("hot_lookups");
  const std::optional<JsonValue> bags = object.find("hot_bags");
  if (!lookups && !bags) return {};
  if (!lookups || !bags || !has_histogram) {
    return (lookups ? lookups : bags)
        ->error(
            "expected hot_lookups, hot_bags and reuse_histogram of one batch, or neither of the "
            "first two");
  }
  NEUROSHARD_RETURN_IF_ERROR(read_histogram(*lookups, table.hot_coverage.lookups));
  return read_histogram(*bags, table.hot_coverage.bags);
}

void write_shares(JsonWriter& writer, std::string_view key, const ReuseHistogram& shares) {
  writer.key(key).begin_array(JsonWriter::Layout::kLine);
  for (const double share : shares) writer.number(share);
  writer.end_array();
}

Status read_table(const JsonValue& value, std::int64_t batch_size, TableFile& file) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  Table table;
  NEUROSHARD_ASSIGN_OR_RETURN(table.name, object.text("name"));
  NEUROSHARD_ASSIGN_OR_RETURN(table.rows, object.integer("rows", 1));
  NEUROSHARD_ASSIGN_OR_RETURN(table.dim, read_dim(object));
  NEUROSHARD_ASSIGN_OR_RETURN(table.pooling_factor,
                              object.number("pooling_factor", 0, kMaxPoolingFactor));
  NEUROSHARD_RETURN_IF_ERROR(
      read_word(object, "data_type", parse_data_type, data_type_words, table.data_type));
  NEUROSHARD_RETURN_IF_ERROR(read_optimizer(object, table));
  NEUROSHARD_RETURN_IF_ERROR(read_outputs(object, table));
  NEUROSHARD_RETURN_IF_ERROR(read_flag(object, "weighted", table.weighted));
  NEUROSHARD_RETURN_IF_ERROR(read_sharding(object, table));
  return finish_table(object, value, batch_size, std::move(table), file);
}

Status read_ours(JsonObject root, std::optional<std::int64_t> batch_size, TableFile& file) {
  NEUROSHARD_RETURN_IF_ERROR(root.format(kFormat, kVersion));
  NEUROSHARD_RETURN_IF_ERROR(read_batch_size(root, batch_size, file));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray tables, root.array("tables"));
  NEUROSHARD_RETURN_IF_ERROR(root.finish());
  return read_each_table(tables, read_table, file);
}

void write_table(JsonWriter& writer, const Table& table, const std::string& module) {
  writer.begin_object();
  writer.key("name").text(table.name);
  writer.key("rows").integer(table.rows);
  writer.key("dim").integer(table.dim);
  writer.key("pooling_factor").number(table.pooling_factor);
  writer.key("data_type").text(to_string(table.data_type));
  writer.key("optimizer").text(to_string(table.optimizer));
  if (table.features != 1) writer.key("features").integer(table.features);
  if (table.weighted) writer.key("weighted").boolean(true);
  if (!table.pooled) writer.key("pooled").boolean(false);
  write_sharding(writer, table);
  if (!module.empty()) writer.key("module").text(module);
  if (table.bag_lengths != BagLengths::kEven) {
    writer.key("bag_lengths").text(to_string(table.bag_lengths));
  }
  write_shares(writer, "reuse_histogram", table.reuse_histogram);
  if (table.hot_coverage.known()) {
    write_shares(writer, "hot_lookups", table.hot_coverage.lookups);
    write_shares(writer, "hot_bags", table.hot_coverage.bags);
  }
  writer.end_object();
}

/// What kind of file a text is, by its first bytes and keys. Other separators than commas are told
/// there.
bool looks_like_csv(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || bytes[first] == '{' || bytes[first] == '[') return false;
  const std::string_view heading = bytes.substr(first, bytes.find('\n', first) - first);
  return heading.find_first_of(",;\t") != std::string_view::npos;
}

/// True when the first element is an object with that key.
bool first_has(const JsonValue& value, std::string_view key) {
  if (!value.is_array()) return false;
  const JsonArray array = *value.array();
  if (array.size() == 0 || !(*array.begin()).is_object()) return false;
  return JsonObject(*array.begin()).has(key);
}

Status read_json_tables(const JsonValue& root, std::optional<std::int64_t> batch_size,
                        TableFile& file) {
  if (root.is_array()) {
    if (first_has(root, "num_embeddings")) return read_torchrec_tables(root, batch_size, file);
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, root.array());
    return read_reference_tables(array, batch_size, file);
  }
  if (!root.is_object()) {
    return root.unexpected("a neuroshard-tables object or an array of table configs");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, root.object());
  if (!object.has("format")) {
    if (object.has("indices_params")) return read_tbe_config(root, batch_size, file);
    const std::optional<JsonValue> tables = object.find("tables");
    if (tables && first_has(*tables, "num_embeddings")) {
      return read_torchrec_tables(root, batch_size, file);
    }
  }
  return read_ours(JsonObject(root), batch_size, file);
}

}  // namespace

Result<std::int32_t> read_dim(JsonObject& object) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t dim, object.integer("dim", 1, kMaxDim));
  return static_cast<std::int32_t>(dim);
}

Status read_batch_size(JsonObject& object, std::optional<std::int64_t> given, TableFile& file) {
  if (const std::optional<JsonValue> value = object.find("batch_size")) {
    NEUROSHARD_ASSIGN_OR_RETURN(file.recorded_batch_size, value->integer(1));
    file.batch_size = file.recorded_batch_size;
  }
  if (given) file.batch_size = given;
  return {};
}

Status read_reuse(JsonObject& object, std::int64_t batch_size, Table& table, TableFile& file) {
  const std::optional<JsonValue> histogram = object.find("reuse_histogram");
  const std::optional<JsonValue> alpha = object.find("zipf_alpha");
  if (histogram && alpha) {
    return alpha->error("found both reuse_histogram and zipf_alpha, expected at most one");
  }
  if (histogram) {
    NEUROSHARD_RETURN_IF_ERROR(read_histogram(*histogram, table.reuse_histogram));
    ++file.recorded_histograms;
    const Status given = check_given_histogram(table);
    return given.ok() ? given : histogram->error(given.message());
  }
  double exponent = 0;
  if (alpha) {
    NEUROSHARD_ASSIGN_OR_RETURN(exponent, alpha->number(0, kMaxZipfAlpha));
  }
  const double lookups = static_cast<double>(batch_size) * table.pooling_factor;
  table.reuse_histogram = file.derived.of(table.rows, lookups, {{}, 1, exponent});
  return {};
}

Status finish_table(JsonObject& object, const JsonValue& place, std::int64_t batch_size,
                    Table table, TableFile& file) {
  NEUROSHARD_RETURN_IF_ERROR(read_hot_coverage(object, object.has("reuse_histogram"), table));
  NEUROSHARD_RETURN_IF_ERROR(read_reuse(object, batch_size, table, file));
  NEUROSHARD_RETURN_IF_ERROR(read_module(object, file));
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  NEUROSHARD_RETURN_IF_ERROR(check_table(place, table));
  file.tables.push_back(std::move(table));
  return {};
}

Status check_table(const JsonValue& place, const Table& table) {
  const Status status = validate(table);
  return status.ok() ? status : place.error(status.message());
}

Status read_optimizer(JsonObject& object, Table& table) {
  return read_word(object, "optimizer", parse_optimizer, optimizer_words, table.optimizer);
}

Status read_flag(JsonObject& object, std::string_view key, bool& flag) {
  const std::optional<JsonValue> value = object.find(key);
  if (!value) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(flag, value->boolean());
  return {};
}

Status read_each_table(const JsonArray& elements,
                       Status (*read)(const JsonValue&, std::int64_t, TableFile&),
                       TableFile& file) {
  // Names are those of the tables, which stay where they are: a million copies are 0.1 GB.
  file.tables.reserve(file.tables.size() + elements.size());
  std::unordered_set<std::string_view> names;
  for (const JsonValue value : elements) {
    NEUROSHARD_RETURN_IF_ERROR(read(value, file.batch_size.value_or(kDefaultBatchSize), file));
    const std::string& name = file.tables.back().name;
    if (!names.insert(name).second) {
      return value.error("found the name " + excerpt(name) +
                         " a second time, expected unique names");
    }
  }
  return {};
}

Status read_outputs(JsonObject& object, Table& table) {
  if (const std::optional<JsonValue> features = object.find("features")) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t count, features->integer(1, kMaxFeatures));
    table.features = static_cast<std::int32_t>(count);
  }
  return read_flag(object, "pooled", table.pooled);
}

Status read_module(JsonObject& object, TableFile& file) {
  std::string& module = file.modules.emplace_back();
  const std::optional<JsonValue> value = object.find("module");
  if (!value) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, value->text());
  if (!is_module_name(text)) return value->unexpected("a dotted name such as 'sparse.ebc'");
  module = text;
  return {};
}

Result<TableFile> parse_tables(std::string_view bytes, const std::string& source,
                               std::optional<std::int64_t> batch_size) {
  if (batch_size && *batch_size < 1) {
    return invalid_input("batch size is " + std::to_string(*batch_size) + ", expected at least 1");
  }
  TableFile file;
  file.sha256 = sha256_hex(bytes);
  bytes = without_mark(bytes);
  if (looks_like_csv(bytes)) {
    NEUROSHARD_RETURN_IF_ERROR(read_csv_tables(bytes, source, batch_size, file));
    file.derived = {};
    return file;
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(bytes, source));
  NEUROSHARD_RETURN_IF_ERROR(read_json_tables(document.root(), batch_size, file));
  file.derived = {};
  const auto said = [](const std::string& module) { return !module.empty(); };
  if (std::none_of(file.modules.begin(), file.modules.end(), said)) file.modules.clear();
  if (file.tables.empty()) {
    return document.root().error("found no tables, expected at least one");
  }
  return file;
}

Result<TableFile> read_tables(const std::string& path, std::optional<std::int64_t> batch_size) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(path));
  return parse_tables(bytes, source_name(path), batch_size);
}

std::string other_batch_note(const TableFile& file, const std::string& source) {
  const std::int64_t batch_size = file.batch_size.value_or(kDefaultBatchSize);
  if (file.recorded_histograms == 0 || batch_size == file.recorded_batch_size) return "";
  return source + ": reuse histograms of " + std::to_string(file.recorded_histograms) +
         " of its tables are of batches of " + std::to_string(file.recorded_batch_size) +
         ", they are taken for batches of " + std::to_string(batch_size) + " as they are";
}

Result<Workload> make_workload(TableFile file, const std::string& source) {
  if (!file.has_dims) {
    return invalid_input(source + ": $[0]: found no key 'dim', expected one in every table");
  }
  Workload workload{std::move(file.tables), file.batch_size.value_or(kDefaultBatchSize)};
  NEUROSHARD_RETURN_IF_ERROR(validate(workload).with_context(source));
  return workload;
}

std::string format_tables(const Workload& workload, std::span<const std::string> modules) {
  JsonWriter writer;
  writer.begin_object();
  writer.key("format").text(kFormat);
  writer.key("version").integer(kVersion);
  writer.key("batch_size").integer(workload.batch_size);
  writer.key("tables").begin_array();
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    write_table(writer, workload.tables[index], modules.empty() ? std::string() : modules[index]);
  }
  writer.end_array().end_object();
  return writer.take();
}

}  // namespace neuroshard::io
