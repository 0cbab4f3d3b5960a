#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "engine/core/reuse_histogram.h"

namespace neuroshard::io {

/// Expected histograms, each found out once while a file is read: its tables are often alike, and
/// one takes as long as reading a hundred of them. Not thread-safe.
class DerivedReuse {
 public:
  /// expected_reuse(rows, lookups, law).histogram, to the bit; valid until the next call.
  const ReuseHistogram& of(std::int64_t rows, double lookups, const IndexLaw& law);

  /// How many are remembered: kMost at most.
  [[nodiscard]] std::size_t size() const { return known_.size(); }
  static constexpr std::size_t kMost = 4096;  // about a megabyte

 private:
  using Key = std::tuple<std::int64_t, double, std::vector<double>, double, double>;
  std::map<Key, ReuseHistogram> known_;
};

}  // namespace neuroshard::io
