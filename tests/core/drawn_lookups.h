#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/rng.h"
#include "engine/core/table.h"

namespace neuroshard::test {

/// Rows 0, 1, .. with probabilities that fall as Zipf's law says.
class ZipfRows {
 public:
  ZipfRows(std::int64_t rows, double exponent);
  [[nodiscard]] std::int64_t draw(Rng& rng) const;
  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(below_.size()); }

 private:
  std::vector<double> below_;  ///< probability of the row and all before it
};

enum class BagKind { kFixed, kPoisson, kOneHot };

/// Bags of rows.
using DrawnBags = std::vector<std::vector<std::int64_t>>;

/// Each lookup by itself, in bags of so many in the mean: all alike, Poisson, or of one or none.
DrawnBags draw_bags(Rng& rng, const ZipfRows& rows, std::int64_t bags, BagKind kind,
                    double lookups);

/// A batch that was counted, and the table that it is known by.
struct CountedBatch {
  Table table;
  std::vector<std::int64_t> counts;  ///< of each row

  CountedBatch(const DrawnBags& bags, std::int64_t rows);

  /// Of each row, whether it is among so many that are looked up most.
  [[nodiscard]] std::vector<bool> hottest(std::int64_t rows) const;
};

/// What a batch looks up of some rows.
struct HotUse {
  double lookups = 0;    ///< share of all
  double cold_bags = 0;  ///< share of the bags that have another row, too
};
HotUse use_of(const DrawnBags& bags, const std::vector<bool>& hot);

}  // namespace neuroshard::test
