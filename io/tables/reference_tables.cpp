#include "io/tables/reference_tables.h"

#include <cstddef>
#include <string>
#include <utility>

#include "io/json/json_writer.h"
#include "io/tables/table_forms.h"

namespace neuroshard::io {
namespace {

/// One entry of the reference's table_configs.json.
Result<Table> read_reference_table(const JsonValue& value, std::size_t index, bool has_dims) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
  Table table;
  table.name = "table_" + std::to_string(index);
  NEUROSHARD_ASSIGN_OR_RETURN(table.rows, object.integer("row", 1));
  NEUROSHARD_ASSIGN_OR_RETURN(table.pooling_factor,
                              object.number("pooling_factor", 0, kMaxPoolingFactor));
  for (std::size_t bin = 0; bin < kReuseBins; ++bin) {
    NEUROSHARD_ASSIGN_OR_RETURN(table.reuse_histogram[bin],
                                object.number("bin_" + std::to_string(bin), 0, 1));
  }
  if (has_dims) {
    NEUROSHARD_ASSIGN_OR_RETURN(table.dim, read_dim(object));
  } else if (const std::optional<JsonValue> dim = object.find("dim")) {
    return dim->error("found a dim, expected none as the first table has none");
  }
  NEUROSHARD_RETURN_IF_ERROR(read_outputs(object, table));
  NEUROSHARD_RETURN_IF_ERROR(object.finish());
  Table checked = table;
  if (!has_dims) checked.dim = 1;
  NEUROSHARD_RETURN_IF_ERROR(check_table(value, checked));
  const Status given = check_given_histogram(table);
  if (!given.ok()) return value.error("bin_0 to bin_16: " + given.message());
  return table;
}

}  // namespace

Status read_reference_tables(const JsonArray& root, std::optional<std::int64_t> batch_size,
                             TableFile& file) {
  file.batch_size = batch_size;
  file.tables.reserve(root.size());
  for (const JsonValue value : root) {
    if (file.tables.empty()) {
      NEUROSHARD_ASSIGN_OR_RETURN(JsonObject first, value.object());
      file.has_dims = first.has("dim");
    }
    NEUROSHARD_ASSIGN_OR_RETURN(Table table,
                                read_reference_table(value, file.tables.size(), file.has_dims));
    ++file.recorded_histograms;
    file.tables.push_back(std::move(table));
  }
  return {};
}

std::string format_reference_tables(std::span<const Table> tables) {
  JsonWriter writer;
  writer.begin_array();
  for (const Table& table : tables) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("row").integer(table.rows);
    writer.key("pooling_factor").number(table.pooling_factor);
    for (std::size_t bin = 0; bin < table.reuse_histogram.size(); ++bin) {
      writer.key("bin_" + std::to_string(bin)).number(table.reuse_histogram[bin]);
    }
    writer.key("dim").integer(table.dim);
    if (table.features > 1) writer.key("features").integer(table.features);
    if (!table.pooled) writer.key("pooled").boolean(false);
    writer.end_object();
  }
  writer.end_array();
  return writer.take();
}

}  // namespace neuroshard::io
