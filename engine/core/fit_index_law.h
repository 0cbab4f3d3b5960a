#pragma once

#include <cstdint>

#include "engine/core/reuse_histogram.h"

namespace neuroshard {

/// A law, and how far the histogram that it is expected to give is from the one it was fitted to.
struct FittedLaw {
  IndexLaw law{};
  double distance = 0;  ///< half the sum of all bins' differences: 0 to 1
};

/// Heavy hitters a fitted law has at most: FBGEMM's benchmark takes 20.
inline constexpr int kMostFittedHitters = 16;

/// The law whose expected histogram of that many lookups of `rows` rows is the nearest to
/// `histogram` that a descent finds: Zipf's exponent and shift, then with the hottest rows of the
/// histogram as heavy hitters, where those bring it nearer. Power laws are met within 0.03. Batches
/// of real tables, whose hot rows are more alike, may be far from every such law. The exponent is
/// above 0, as FBGEMM asks. Where nothing is looked up, any law will do: an even one. Takes some
/// hundred expected_reuse(), a tenth of a second. Deterministic, thread-safe. REQUIRES rows >= 1,
/// lookups >= 0 and finite.
FittedLaw fit_index_law(const ReuseHistogram& histogram, double lookups, std::int64_t rows);

}  // namespace neuroshard
