#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace neuroshard {

inline constexpr int kReuseBins = 17;

/// Bin k is the share of the *distinct* indices of a batch whose count in it is in (2^(k-1), 2^k];
/// bin 0 is exactly once, bin 16 above 32,768. Shares add up to 1, or are all 0 without lookups.
using ReuseHistogram = std::array<double, kReuseBins>;

/// Lower and upper count of bin k, both included; the last bin has no upper end (INT64_MAX).
struct ReuseBinRange {
  std::int64_t low;
  std::int64_t high;
};
ReuseBinRange reuse_bin_range(int bin);

/// The count that stands for a bin: the geometric mean of its range, of the last bin 49,152.
double reuse_bin_center(int bin);

/// What a batch of indices looks like in expectation.
struct ReuseExpectation {
  ReuseHistogram histogram{};
  double distinct_rows = 0;  ///< expected number of distinct rows looked up
};

/// Expected histogram of `lookups` draws over `rows` rows, row of rank r (1-based) with probability
/// proportional to r^-zipf_alpha (0 = uniform). Computed by expectation, not by sampling: row
/// counts are Poisson(lookups * p_r); ranks are grouped where p_r hardly changes, so the cost does
/// not grow with rows. REQUIRES rows >= 1, lookups >= 0 and finite, zipf_alpha >= 0 and finite.
ReuseExpectation expected_reuse(std::int64_t rows, double lookups, double zipf_alpha);

/// How lookups spread over rows in FBGEMM's benchmark configurations: k heavy hitters with a
/// probability each; with what remains, row i of the others (i = 0, 1, ..) with probability
/// proportional to (i + k + zipf_q)^-zipf_s.
struct IndexLaw {
  std::vector<double> heavy_hitters{};
  double zipf_q = 1;
  double zipf_s = 0;
};

/// The same for such a law. REQUIRES probabilities in [0, 1] that add up to 1 at most (beyond
/// rounding), fewer of them than rows, zipf_q > 0, zipf_s >= 0, all finite.
ReuseExpectation expected_reuse(std::int64_t rows, double lookups, const IndexLaw& law);

/// How likely the count of a row is in each bin when it is Poisson with that mean; what they lack
/// of 1 is the likelihood of no lookup. REQUIRES mean > 0.
ReuseHistogram poisson_bins(double mean);

/// The histogram of a part of a batch, each lookup of which is in the part with the chance `share`:
/// a row that the batch looks up c times is seen there with the chance 1 - (1 - share)^c, so hot
/// rows are less hot there. `histogram` is of the batch, which looks `lookups` of `rows` rows up.
/// mean_reuse() of what it returns is exact, how counts spread around that is not. REQUIRES
/// 0 < share <= 1.
ReuseHistogram thinned_reuse(const ReuseHistogram& histogram, double lookups, std::int64_t rows,
                             double share);

/// Mean count of a distinct index, read off a histogram (bin centres are geometric means; the last
/// bin counts as 49,152). 0 for the all-zero histogram.
double mean_reuse(const ReuseHistogram& histogram);

/// Expected number of distinct rows that `lookups` lookups with this histogram touch:
/// lookups / mean_reuse, at most `rows`.
double distinct_rows(const ReuseHistogram& histogram, double lookups, std::int64_t rows);

}  // namespace neuroshard
