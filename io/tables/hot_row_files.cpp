#include "io/tables/hot_row_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "io/json/json_writer.h"
#include "io/npy.h"

namespace neuroshard::io {
namespace {

constexpr std::size_t kRowsInPiece = 1 << 16;

std::string file_of(std::size_t table) { return std::to_string(table) + ".npy"; }

Status write_rows(const std::string& name, std::span<const CountedRow> rows, NewFolder& folder) {
  const std::array<std::int64_t, 2> shape{std::ssize(rows), 2};
  NEUROSHARD_RETURN_IF_ERROR(folder.append(name, format_npy_header(shape)));
  std::vector<std::int64_t> items;
  while (!rows.empty()) {
    const auto piece = rows.first(std::min(rows.size(), kRowsInPiece));
    rows = rows.subspan(piece.size());
    items.clear();
    for (const CountedRow& each : piece) items.insert(items.end(), {each.row, each.lookups});
    NEUROSHARD_RETURN_IF_ERROR(folder.append(
        name, {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(std::int64_t)}));
  }
  return {};
}

}  // namespace

Status write_hot_rows(const Workload& workload, const IndexDirectory& directory,
                      NewFolder& folder) {
  JsonWriter json;
  json.begin_object();
  json.key("format").text(kHotRowsFormat).key("version").integer(kHotRowsVersion);
  json.key("batch_size").integer(directory.batch_size);
  json.key("tables").begin_array();
  for (std::size_t table = 0; table < directory.tables.size(); ++table) {
    const IndexStatistics& own = directory.tables[table];
    NEUROSHARD_RETURN_IF_ERROR(write_rows(file_of(table), own.hottest, folder));
    json.begin_object(JsonWriter::Layout::kLine);
    json.key("table").integer(static_cast<std::int64_t>(table));
    json.key("name").text(workload.tables[table].name);
    json.key("file").text(file_of(table));
    json.key("rows").integer(std::ssize(own.hottest));
    json.key("lookups").integer(own.lookups);
    json.key("unseen_share").number(own.unseen_share());
    json.end_object();
  }
  json.end_array().end_object();
  return folder.append(kHotRowsFile, json.take());
}

}  // namespace neuroshard::io
