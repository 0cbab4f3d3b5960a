#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/tables/table_file.h"

namespace neuroshard::io {

/// Reads, told apart by what is in them:
/// - `neuroshard-tables` JSON;
/// - the reference's table_configs.json, an array of `row, pooling_factor, bin_0..bin_16[, dim]`,
///   whose tables are called "table_0", "table_1", ...;
/// - TorchRec-like configs, an array of `name, num_embeddings, embedding_dim, feature_names,
///   pooling_factors`, or that as "tables" of an object with "batch_size";
/// - FBGEMM's TBEDataConfig JSON, whose tables are called "table_0", ...;
/// - CSV with a heading: name, rows, dim, pooling_factor[, data_type, optimizer, zipf_alpha].
///
/// Per table of ours: name (unique), rows, dim, pooling_factor; optional data_type ("fp32"),
/// optimizer ("sgd"), module (of the trainer's model), what sharding is allowed (all) and either
/// reuse_histogram or zipf_alpha (0 = uniform), from which the histogram follows by expectation for
/// batch_size x pooling_factor lookups. TorchRec-like configs may have all of these too.
/// `batch_size` replaces the file's value (also for derived histograms) when given.
///
/// Every table passes core validate. Errors: kInvalidInput naming source and JSON path.
Result<TableFile> parse_tables(std::string_view bytes, const std::string& source,
                               std::optional<std::int64_t> batch_size = std::nullopt);

/// The same from a file, or standard input for "-".
Result<TableFile> read_tables(const std::string& path,
                              std::optional<std::int64_t> batch_size = std::nullopt);

/// That reuse histograms of the file are of batches of another size than the tables are taken for,
/// for people; "" when they are not. `source` as in parse_tables().
std::string other_batch_note(const TableFile& file, const std::string& source);

/// Tables and batch size (kDefaultBatchSize when absent) as a workload. Errors: kInvalidInput when
/// the file has no dims, no tables, or too many bytes in all.
Result<Workload> make_workload(TableFile file, const std::string& source);

/// `neuroshard-tables` version 1 text, histograms written out. `modules` is empty or has one for
/// every table, as in TableFile. Deterministic.
std::string format_tables(const Workload& workload, std::span<const std::string> modules = {});

}  // namespace neuroshard::io
