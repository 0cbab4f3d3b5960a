#include "io/tables/reference_tables.h"

#include <cstddef>

#include "io/json/json_writer.h"

namespace neuroshard::io {

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
    writer.end_object();
  }
  writer.end_array();
  return writer.take();
}

}  // namespace neuroshard::io
