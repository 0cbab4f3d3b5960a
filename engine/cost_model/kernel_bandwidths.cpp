#include "engine/cost_model/kernel_bandwidths.h"

#include <array>
#include <cstddef>

namespace neuroshard {

std::span<const CacheHits> all_cache_hits() {
  static constexpr std::array kAllCacheHits{CacheHits::kLoadFactor, CacheHits::kCurve};
  return kAllCacheHits;
}

KernelBandwidths::KernelBandwidths(const TorchRecCosts& costs, const Workload& workload)
    : device_(bytes_per_ms(costs.device_gbps)),
      host_(bytes_per_ms(costs.host_memory_gbps)),
      cache_hits_(costs.cache_hits) {
  if (cache_hits_ != CacheHits::kCurve) return;
  for (const Table& table : workload.tables) {
    std::optional<AccessCurve>& curve = curves_.emplace_back();
    if (!table.kernels.fused_uvm_caching) continue;
    const double lookups = table.pooling_factor * static_cast<double>(workload.batch_size);
    curve.emplace(table.reuse_histogram, lookups, table.rows);
  }
}

double KernelBandwidths::of(std::int32_t table, const TableKernel& kernel) const {
  if (!kernel.offloaded()) return device_;
  const double cached = kernel.load_factor;
  if (cache_hits_ == CacheHits::kLoadFactor) {
    return kOffloadedShare * (cached * device_ + (1 - cached) * host_);
  }
  const auto& curve = curves_[static_cast<std::size_t>(table)];
  const double hits = curve ? curve->hits(cached) : cached;
  return 1 / (hits / device_ + (1 - hits) / host_);
}

}  // namespace neuroshard
