#pragma once

#include <span>
#include <string>

#include "engine/core/table.h"

namespace neuroshard::io {

/// The reference's table_configs.json: an array of `row, pooling_factor, bin_0..bin_16, dim`, one
/// table a line; `features` and `pooled` where a table has several, or lookups that are not pooled.
/// Names, data types and optimizers have no place in it. Deterministic; read_tables gives the same
/// numbers back.
std::string format_reference_tables(std::span<const Table> tables);

}  // namespace neuroshard::io
