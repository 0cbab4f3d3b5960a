#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/tables/row_counter.h"

// What tables look like from the lookups of one batch, the layout of Meta's DLRM data sets as NumPy
// arrays: a directory with
//   indices.npy  the rows looked up: table by table, sample by sample
//   offsets.npy  tables x batch + 1 places in it: bag i of all bags is [offsets[i], offsets[i + 1])
//   lengths.npy  optional, tables x batch: the lengths of the bags, and by its shape the batch

namespace neuroshard::io {

inline constexpr const char* kIndicesFile = "indices.npy";
inline constexpr const char* kOffsetsFile = "offsets.npy";
inline constexpr const char* kLengthsFile = "lengths.npy";

/// Statistics of one table's lookups.
struct IndexStatistics {
  std::int64_t lookups = 0;
  double pooling_factor = 0;  ///< lookups per sample
  std::int64_t rows = 0;      ///< largest row looked up + 1; 0 without lookups
  std::int64_t distinct = 0;
  std::array<std::int64_t, kReuseBins> bins{};  ///< distinct rows per reuse bin
  std::array<std::int64_t, kReuseBins> lookups_of_bins{};
  /// Bags by the least bin of their rows; those without lookups are in the last one.
  std::array<std::int64_t, kReuseBins> bags{};
  /// Rows looked up twice or more often, those looked up most first, of equal ones that with the
  /// lower number; only where IndexOptions asks for them.
  std::vector<CountedRow> hottest{};

  /// Shares of the distinct rows; all 0 without lookups.
  [[nodiscard]] ReuseHistogram histogram() const;
  /// What the rows that are looked up most have; all 0 without lookups.
  [[nodiscard]] HotCoverage hot_coverage() const;
  /// Share of the next batch's lookups that rows take which this one has not looked up, by Good and
  /// Turing's estimate: that of the rows that are looked up once. 0 without lookups.
  [[nodiscard]] double unseen_share() const;
};

struct IndexDirectory {
  std::int64_t batch_size = 0;
  std::vector<IndexStatistics> tables;
};

struct IndexOptions {
  std::int64_t batch_size = 0;  ///< 0 = the shape of lengths.npy
  int threads = 1;              ///< 0 = one per hardware thread; never changes the result
  /// Memory for counting, all threads together. Tables with more distinct rows than fit are read
  /// several times, part by part.
  std::int64_t memory_bytes = std::int64_t{512} << 20;
  bool hottest = false;              ///< whether rows are told; 16 bytes each, beside memory_bytes
  ProgressSink* progress = nullptr;  ///< phase "counting", in lookups
  const CancelToken* cancel = nullptr;
};

/// Reads a directory, streaming. Errors: kInvalidInput naming the file and the item (malformed,
/// negative rows, offsets that fall or do not match), kIoError, kCancelled. Thread-safe.
Result<IndexDirectory> read_index_directory(const std::string& folder, const IndexOptions& options);

}  // namespace neuroshard::io
