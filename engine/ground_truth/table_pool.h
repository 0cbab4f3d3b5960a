#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// What generated tables are like.
enum class PoolShape {
  kProduction,  ///< Meta's 856 DLRM tables of 2021
  kBroad,       ///< few and many rows, short and long bags, flat and steep lookups, each with each
  kUniform,     ///< the same with flat lookups alone
};

struct GenerateOptions {
  std::int32_t count = 856;
  std::uint64_t seed = 0;
  /// Each table's dim is one of these, drawn evenly. Empty: dims stay 0, as in the reference's
  /// pool.
  std::vector<std::int32_t> dims{4, 8, 16, 32, 64, 128};
  std::int64_t batch_size = 65536;
  PoolShape shape = PoolShape::kProduction;
};

/// Most tables one call generates; a bound for mistyped counts.
inline constexpr std::int32_t kMaxGeneratedTables = 1'000'000;

/// A pool of tables, of which number i depends on seed, batch size, shape and i alone.
///
/// kProduction: rows and pooling factors follow the published quantiles of the 856 tables (15 % of
/// them at 100 rows, 4 % without lookups) and their rank correlation; reuse histograms have the
/// mean and the spread of that data set's.
///
/// kBroad: rows from 100 to 40 million and pooling factors from 0.5 to 200, each as often of one
/// size as of another by their logarithm; Zipf exponents of the lookups from 0 (uniform) to 1.3.
/// Nothing depends on another. kUniform: the same with exponents of 0, as of tables that say
/// nothing of reuse.
///
/// Errors: count, dims or batch size out of range.
Result<Workload> generate_tables(const GenerateOptions& options);

/// What a set of tables amounts to.
struct TablesSummary {
  /// Quantiles at 0, 10, 25, 50, 75, 90, 99, 100 %.
  static constexpr std::array<double, 8> kQuantiles{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
  using Quantiles = std::array<double, kQuantiles.size()>;

  std::int64_t tables = 0;
  std::int64_t without_lookups = 0;
  std::int64_t limited_sharding = 0;  ///< tables that do not allow everything
  std::int64_t batch_size = 0;
  bool has_dims = true;  ///< false: some dim is 0 and all sizes below are 0
  std::int64_t total_bytes = 0;
  std::int64_t largest_bytes = 0;
  double total_rows = 0;
  double lookups_per_sample = 0;
  double distinct_rows_per_batch = 0;  ///< expected
  double dim_sum = 0;
  Quantiles rows{};
  Quantiles pooling_factor{};
  std::vector<std::pair<std::int32_t, std::int64_t>> dims;  ///< dim -> number of tables, ascending
  std::vector<std::int32_t> heaviest_by_bytes;    ///< table indices, largest first, at most `top`
  std::vector<std::int32_t> heaviest_by_lookups;  ///< by pooling_factor x dim (x 1 without dims)
};

/// REQUIRES tables whose values are in range (dims may be 0). Equal weights keep the tables' order.
TablesSummary summarize(const Workload& workload, std::size_t top);

}  // namespace neuroshard
