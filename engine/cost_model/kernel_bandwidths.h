#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/core/access_curve.h"
#include "engine/core/compute_kernel.h"
#include "engine/core/table.h"
#include "engine/cost_model/torchrec_costs.h"

namespace neuroshard {

/// What kernels read and write, in bytes per ms, of the tables of a workload. Without a curve,
/// TorchRec's estimator: a cache of 5 % of the rows serves 5 % of the lookups, and whatever reads
/// host memory has a tenth of the bandwidths. With CacheHits::kCurve a cache serves what the
/// table's AccessCurve says, and the time of a byte is that of device memory for those and that of
/// the host's for the others. A curve is made when a cache of its table is first asked about: most
/// searches ask about none. Const access is thread-safe.
class KernelBandwidths {
 public:
  /// `workload` must outlive it.
  KernelBandwidths(const TorchRecCosts& costs, const Workload& workload);

  [[nodiscard]] double of(std::int32_t table, const TableKernel& kernel) const;

 private:
  struct LateCurve {
    std::once_flag made;
    std::optional<AccessCurve> curve;
  };
  [[nodiscard]] double hits(std::int32_t table, double cached) const;

  const Workload& workload_;
  double device_;
  double host_;
  mutable std::vector<LateCurve> curves_;  ///< one a table; empty: by load factors
};

}  // namespace neuroshard
