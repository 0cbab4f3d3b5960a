#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/reuse_histogram.h"

namespace neuroshard {

/// The shares of a table's rows that AccessCurve is exact at, from 0 to 1 and growing; straight
/// lines join them.
std::span<const double> access_curve_shares();

/// How many of a table's lookups a cache of some of its rows serves: a cache of 5 % of the rows of
/// a production table serves about 80 % of its lookups, not 5 %. Grows with the cache, and ever
/// more slowly. A value; const access is thread-safe.
///
/// Two steps, both from the literature. How often each row is looked up follows from the reuse
/// histogram of one batch as the likeliest mixture of Poisson rates (expectation-maximisation,
/// begun at a power law with the slope of the hot rows, which is what the rows that no batch has
/// shown yet keep). The rest is Che's approximation of a cache that evicts the least recently used
/// row (Che, Tung, Wang 2002): a row is in it for as long as every row is after its last lookup.
class AccessCurve {
 public:
  /// Of a table with that histogram, of a batch that looks `lookups` rows up. All rows alike where
  /// the histogram is all 0. REQUIRES rows >= 1, lookups >= 0 and finite.
  AccessCurve(const ReuseHistogram& histogram, double lookups, std::int64_t rows);

  /// Of the lookups, in [0, 1], for a cache of this share of the rows, in [0, 1].
  [[nodiscard]] double hits(double cached_share) const;

 private:
  std::vector<double> hits_;  ///< at access_curve_shares()
};

}  // namespace neuroshard
