#include "io/benchmark/benchmark_json.h"

#include <string>

#include "engine/core/version.h"

namespace neuroshard::io {

void begin_benchmark(JsonWriter& json) {
  json.begin_object().key("format").text(kBenchmarkFormat).key("version").integer(1);
  json.key("engine").text(std::string("neuroshard ") + version());
}

void begin_table(JsonWriter& json, const Table& table) {
  json.begin_object(JsonWriter::Layout::kLine).key("name").text(table.name);
  json.key("rows").integer(table.rows).key("dim").integer(table.dim);
  json.key("data_type").text(to_string(table.data_type));
  json.key("optimizer").text(to_string(table.optimizer));
}

void write_cells(JsonWriter& json, const Shard& shard) {
  json.key("rows").begin_array().integer(shard.row_begin).integer(shard.row_end).end_array();
  json.key("columns").begin_array().integer(shard.column_begin).integer(shard.column_end);
  json.end_array().key("kernel").text(to_string(shard.kernel.kernel));
}

}  // namespace neuroshard::io
