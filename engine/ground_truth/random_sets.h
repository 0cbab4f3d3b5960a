#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// max_dim, its half, .. while divisible by 4; with `every_dim` all multiples of 4 up to it, from
/// max_dim down. REQUIRES max_dim a positive multiple of 4.
std::vector<std::int32_t> dim_choices(std::int32_t max_dim, bool every_dim = false);

/// Every table at every dim of dim_choices: entry i + tables.size() * k has the k-th dim.
std::vector<Table> augmented_pool(const std::vector<Table>& tables, std::int32_t max_dim,
                                  bool every_dim = false);

/// What is drawn of the lookups of a pool's tables.
struct LookupMix {
  /// Every table has 1 to so many features, small numbers as often as large ones by their
  /// logarithm; 1: as many as before.
  std::int32_t most_features = 1;
  double not_pooled = 0;  ///< share of the tables whose lookups are not pooled; 0: as before
};
/// Draws them for each entry of `pool`: a function of the arguments alone.
void draw_lookups(const LookupMix& mix, std::vector<Table>& pool);

/// In how many parts the rows of each entry of `pool` are split for its twin that is a row shard: 2
/// to `most_parts`, small numbers as often as large ones by their logarithm, but never more than
/// the table has rows. A function of the arguments alone. REQUIRES most_parts >= 2.
std::vector<std::int32_t> draw_row_parts(const std::vector<Table>& pool, std::int32_t most_parts);

/// The first of `parts` blocks of ceil(rows / parts) rows as a table of its own: as many of the
/// lookups as of the rows, the histogram unchanged. REQUIRES 1 <= parts <= table.rows.
Table row_part(const Table& table, std::int32_t parts);

/// Draws sets of pool entries whose weights fit a limit. Const access is thread-safe.
class SetDraw {
 public:
  /// max_distinct: a set has 1 to so many different entries, each of which stands for several of
  /// its tables; 0: every table is drawn alone. Errors: kInvalidInput when the pool is empty or
  /// when max_tables of the smallest entry do not fit, as some sets could never be drawn.
  static Result<SetDraw> make(const std::vector<Table>& pool, std::int32_t max_tables,
                              std::int64_t max_memory_bytes, std::int32_t max_distinct = 0);

  /// Set number `sample` of `seed`, a function of these two alone: 1..max_tables ids, uniform with
  /// repetition, the ids redrawn until the set fits. Errors: kInvalidInput when a million redraws
  /// find none.
  [[nodiscard]] Result<std::vector<std::int32_t>> draw(std::uint64_t seed,
                                                       std::int64_t sample) const;

 private:
  std::vector<std::int64_t> bytes_;  ///< per pool entry
  std::int32_t max_tables_ = 1;
  std::int32_t max_distinct_ = 0;
  std::int64_t max_memory_bytes_ = 0;
};

/// One all-to-all to measure.
struct ExchangeSample {
  std::vector<std::int64_t> dims;
  std::vector<double> starts_ms;
};

/// All-to-all number `sample` of `seed`: 10..59 tables with dims from dim_choices(max_dim), largest
/// first; each goes to a random device with a probability that is drawn per sample, else to the
/// device with the smallest sum (the first of equals). Start times are whole milliseconds in
/// 0..s-1, s in 1..19, shifted so that the first starts at 0. REQUIRES devices >= 1.
ExchangeSample draw_exchange(std::uint64_t seed, std::int64_t sample, std::int32_t devices,
                             std::int32_t max_dim);

}  // namespace neuroshard
