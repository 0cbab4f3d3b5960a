#pragma once

#include <string_view>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/json/json.h"

// What a table's sharding may be, as table files say it. Absent: everything.

namespace neuroshard::io {

/// Our own "sharding", the words of the kinds that are allowed, "min_columns", "compute_kernels",
/// "cache_load_factor" and "devices".
Status read_sharding(JsonObject& object, Table& table);
/// TorchRec's "sharding_types" and "min_partition", in our kinds, which are coarser, and our own
/// "compute_kernels", "cache_load_factor" and "devices". REQUIRES dim of `table`.
Status read_torchrec_sharding(JsonObject& object, Table& table);
/// The share of rows that a cache holds, above 0 and at most 1.
Result<double> read_load_factor(JsonObject& object, std::string_view key = "cache_load_factor");
/// Written where they are not the default.
void write_sharding(JsonWriter& writer, const Table& table);

}  // namespace neuroshard::io
