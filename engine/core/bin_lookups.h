#pragma once

#include <array>
#include <cstdint>

#include "engine/core/reuse_histogram.h"
#include "engine/core/table.h"

namespace neuroshard {

/// What the rows of each bin of a reuse histogram have of a batch's lookups. A histogram tells how
/// many rows a bin has, but of their counts no more than the range, whose end is twice its
/// beginning.
struct BinLookups {
  double distinct = 0;                    ///< rows that the batch looks up
  std::array<double, kReuseBins> rows{};  ///< of each bin; they add up to `distinct`
  /// Of each bin; they add up to the batch's, but of a later batch than that of the histogram.
  std::array<double, kReuseBins> lookups{};
  /// Of these the lookups of rows that have no more than the bin's lowest count.
  std::array<double, kReuseBins> least{};
};

/// Lookups as they were counted, where the table has that. Otherwise counts are taken to follow a
/// power law within each bin, the one through the densities of the bins beside it. Of 180 batches
/// drawn by Zipf's law with exponents of 0.4 to 1 (32,768 to 524,288 lookups of 1,024 to 262,144
/// rows), the share of the lookups in rows above any bin was then within 0.033 of the batch's
/// (0.008 in the mean of the batches' largest), distinct rows within 5.2 % (0.9 %); bins' geometric
/// means, which mean_reuse() goes by, gave 0.041 (0.014) and 5.5 % (2.6 %). No histogram says much
/// of rows that are nearly all looked up alike, nor of a few rows that have much of the lookups:
/// with exponents below 0.4 or above 1 both ways were off by up to 0.14. Zeros where nothing is
/// looked up. REQUIRES a valid table, batch_size >= 1.
BinLookups bin_lookups(const Table& table, std::int64_t batch_size);

}  // namespace neuroshard
