#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/table.h"
#include "io/tables/derived_reuse.h"

namespace neuroshard::io {

/// Global batch size of a table file that names none (DESIGN section 7).
inline constexpr std::int64_t kDefaultBatchSize = 65536;

/// Most lookups per sample and largest Zipf exponent accepted: far above real tables, and small
/// enough that no product of them overflows.
inline constexpr double kMaxPoolingFactor = 1e9;
inline constexpr double kMaxZipfAlpha = 100;

/// What a table file says.
struct TableFile {
  std::vector<Table> tables;
  std::optional<std::int64_t> batch_size;  ///< absent in the reference's form
  /// Dotted name of the module of the trainer's model that holds each table, "" = not said; empty
  /// when none is.
  std::vector<std::string> modules{};
  /// Batch size that reuse histograms written in the file are of, whatever the caller's.
  std::int64_t recorded_batch_size = kDefaultBatchSize;
  std::int64_t recorded_histograms = 0;  ///< tables that have one
  bool has_dims = true;                  ///< false: every Table::dim is 0 until a task gives it
  std::string sha256;                    ///< of the file's bytes
  DerivedReuse derived{};                ///< while it is read; empty afterwards
};

}  // namespace neuroshard::io
