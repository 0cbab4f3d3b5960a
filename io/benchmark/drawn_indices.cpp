#include "io/benchmark/drawn_indices.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "io/npy.h"
#include "io/tables/index_directory.h"

namespace neuroshard::io {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::size_t kItemsInPiece = std::size_t{1} << 16;

std::string path_of(const char* name) { return std::string("indices/") + name; }

std::string_view bytes_of(const Integers& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]};
}

/// Items of an array that follow from the lengths of the bags, one each.
template <typename Value>
Status write_of_bags(const std::string& name, const std::vector<std::int32_t>& lengths,
                     const FolderSink& sink, const Value& value) {
  Integers piece;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    piece.push_back(value(lengths[k]));
    if (piece.size() < kItemsInPiece && k + 1 < lengths.size()) continue;
    NEUROSHARD_RETURN_IF_ERROR(sink(name, bytes_of(piece)));
    piece.clear();
  }
  return {};
}

}  // namespace

Status write_drawn_indices(
    const Workload& workload, std::int64_t batch_size,
    const std::function<DrawnLookups(const Table&, std::int64_t)>& draw,
    const std::function<void(std::int32_t table, const std::vector<std::int64_t>&)>& seen,
    const FolderSink& sink) {
  const auto tables = std::ssize(workload.tables);
  std::int64_t all = 0;
  for (const Table& table : workload.tables) {
    all += std::llround(table.pooling_factor * static_cast<double>(batch_size));
  }
  const std::string indices = path_of(kIndicesFile);
  NEUROSHARD_RETURN_IF_ERROR(sink(indices, format_npy_header(Integers{all})));
  std::vector<std::int32_t> lengths;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const DrawnLookups drawn = draw(workload.tables[index], batch_size);
    NEUROSHARD_RETURN_IF_ERROR(sink(indices, bytes_of(drawn.indices)));
    for (std::size_t bag = 0; bag + 1 < drawn.offsets.size(); ++bag) {
      lengths.push_back(static_cast<std::int32_t>(drawn.offsets[bag + 1] - drawn.offsets[bag]));
    }
    seen(static_cast<std::int32_t>(index), drawn.indices);
  }
  std::int64_t place = 0;
  const std::string offsets = path_of(kOffsetsFile);
  NEUROSHARD_RETURN_IF_ERROR(sink(offsets, format_npy_header(Integers{tables * batch_size + 1})));
  NEUROSHARD_RETURN_IF_ERROR(sink(offsets, bytes_of({place})));
  NEUROSHARD_RETURN_IF_ERROR(
      write_of_bags(offsets, lengths, sink, [&](std::int64_t length) { return place += length; }));
  if (place != all) return internal_error("found other numbers of lookups than tables have");
  NEUROSHARD_RETURN_IF_ERROR(
      sink(path_of(kLengthsFile), format_npy_header(Integers{tables, batch_size})));
  return write_of_bags(path_of(kLengthsFile), lengths, sink,
                       [](std::int64_t length) { return length; });
}

}  // namespace neuroshard::io
