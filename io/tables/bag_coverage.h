#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/status.h"
#include "io/npy.h"
#include "io/tables/row_counter.h"

namespace neuroshard::io {

/// Of each bag of a table the least bin of its rows. A row is told by the thread that counted it,
/// so those of a table that is counted in parts come in any order, and from several threads at
/// once.
class BagCoverage {
 public:
  explicit BagCoverage(std::int64_t bags);

  /// One pass over the lookups [begin, end) of `indices`, which are those of bags `first_bag` and
  /// after in `offsets`: bags learn of the rows that `counter` has counted. Errors: kIoError,
  /// kCancelled. Thread-safe.
  Status add(const NpyFile& indices, const NpyFile& offsets, std::int64_t first_bag,
             const RowCounter& counter, const CancelToken* cancel);

  /// Bags by that bin; those without lookups are in the last one.
  [[nodiscard]] std::array<std::int64_t, kReuseBins> bins() const;

 private:
  std::vector<std::atomic<std::uint8_t>> least_;
};

}  // namespace neuroshard::io
