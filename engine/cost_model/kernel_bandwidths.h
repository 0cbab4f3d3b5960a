#pragma once

#include <cstdint>
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
/// the host's for the others. A value; const access is thread-safe.
class KernelBandwidths {
 public:
  /// Keeps nothing of `workload`.
  KernelBandwidths(const TorchRecCosts& costs, const Workload& workload);

  [[nodiscard]] double of(std::int32_t table, const TableKernel& kernel) const;

 private:
  double device_;
  double host_;
  CacheHits cache_hits_;
  std::vector<std::optional<AccessCurve>> curves_;  ///< of tables that may have a cache
};

}  // namespace neuroshard
