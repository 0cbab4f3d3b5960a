#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "io/json/json.h"
#include "io/tables/table_file.h"

// The foreign forms of table files, one function each, for parse_tables(). `batch_size` is the
// caller's, above the file's. Tables are appended to `file`; errors name source and place.

namespace neuroshard::io {

/// [{"name", "num_embeddings", "embedding_dim", "feature_names", "pooling_factors", ..}], or the
/// same as "tables" of an object with "batch_size".
Status read_torchrec_tables(const JsonValue& root, std::optional<std::int64_t> batch_size,
                            TableFile& file);

/// FBGEMM's TBEDataConfig. Tables are called "table_0", "table_1", ..
Status read_tbe_config(const JsonValue& root, std::optional<std::int64_t> batch_size,
                       TableFile& file);

/// The same from tables that are looked up by those laws, a law each. What tables have beside rows,
/// dim and pooling factor has no place in it. REQUIRES tables, and fewer heavy hitters than rows.
std::string format_tbe_config(std::span<const Table> tables, std::span<const IndexLaw> laws,
                              std::int64_t batch_size);

/// The reference's table_configs.json. Tables are called "table_0", "table_1", ..; all have dims or
/// none.
Status read_reference_tables(const JsonArray& root, std::optional<std::int64_t> batch_size,
                             TableFile& file);

/// A heading line, then a line a table.
Status read_csv_tables(std::string_view bytes, const std::string& source,
                       std::optional<std::int64_t> batch_size, TableFile& file);

// Shared by the forms.

/// Heavy hitters a law may have, and the range of its Zipf parameters: far beyond what is measured,
/// small enough for every sum over them to stay finite.
inline constexpr std::size_t kMaxHeavyHitters = 100;
inline constexpr double kMinZipfQ = 1e-3;
inline constexpr double kMaxZipfQ = 1e9;

/// The histogram as written in `reuse_histogram`, or derived from `zipf_alpha` (default 0), and for
/// `batch_size` samples; `file` counts those written. REQUIRES rows and pooling_factor of `table`.
Status read_reuse(JsonObject& object, std::int64_t batch_size, Table& table, TableFile& file);
/// The file's own batch size, unless `given`, which is the caller's.
Status read_batch_size(JsonObject& object, std::optional<std::int64_t> given, TableFile& file);

/// `dim`, in the range of tables.
Result<std::int32_t> read_dim(JsonObject& object);

/// Core validate() with the table's place in front.
Status check_table(const JsonValue& place, const Table& table);

/// An optional word such as a data type: what `parse` makes of the text of `key`. `expected` is
/// asked for the words that there are where it is another one.
template <typename T>
Status read_word(JsonObject& object, std::string_view key, Result<T> (*parse)(std::string_view),
                 std::string (*expected)(), T& word) {
  const std::optional<JsonValue> value = object.find(key);
  if (!value) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, value->text());
  const Result<T> parsed = parse(text);
  if (!parsed.ok()) return value->unexpected(expected());
  word = *parsed;
  return {};
}
Status read_optimizer(JsonObject& object, Table& table);
/// An optional boolean.
Status read_flag(JsonObject& object, std::string_view key, bool& flag);
/// Reads every element by `read(element, batch size, file)`, which appends a table to the file's.
/// Error: a name that is there a second time.
Status read_each_table(const JsonArray& elements,
                       Status (*read)(const JsonValue&, std::int64_t, TableFile&), TableFile& file);
/// The optional `features` and `pooled`: which outputs a table has.
Status read_outputs(JsonObject& object, Table& table);
/// The optional `module`, appended to the file's.
Status read_module(JsonObject& object, TableFile& file);
/// What is left of a table in all forms, its reuse and module, and the table to the file's. Errors:
/// also keys that nobody has asked for, and check_table()'s.
Status finish_table(JsonObject& object, const JsonValue& place, std::int64_t batch_size,
                    Table table, TableFile& file);

}  // namespace neuroshard::io
