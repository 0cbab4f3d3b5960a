#pragma once

#include <cstdint>
#include <string_view>

#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "io/json/json_writer.h"

namespace neuroshard::io {

// What benchmark.json of a plan and of sets of shards have in common.

/// What FBGEMM's columns are a multiple of: it reads vectors of as many.
inline constexpr std::int32_t kFbgemmColumns = 4;

inline constexpr const char* kBenchmarkFile = "benchmark.json";
inline constexpr std::string_view kBenchmarkFormat = "neuroshard-benchmark";

/// Begins the file: format, version, engine.
void begin_benchmark(JsonWriter& json);
/// Begins the object of a table: name, rows, dim, data type, optimizer. The caller ends it.
void begin_table(JsonWriter& json, const Table& table);
/// Of a shard: rows, columns, kernel.
void write_cells(JsonWriter& json, const Shard& shard);

}  // namespace neuroshard::io
