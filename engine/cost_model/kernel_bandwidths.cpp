#include "engine/cost_model/kernel_bandwidths.h"

#include <array>
#include <cstddef>

namespace neuroshard {

std::span<const CacheHits> all_cache_hits() {
  static constexpr std::array kAllCacheHits{CacheHits::kLoadFactor, CacheHits::kCurve};
  return kAllCacheHits;
}

KernelBandwidths::KernelBandwidths(const TorchRecCosts& costs, const Workload& workload)
    : workload_(workload),
      device_(bytes_per_ms(costs.device_gbps)),
      host_(bytes_per_ms(costs.host_memory_gbps)),
      curves_(costs.cache_hits == CacheHits::kCurve ? workload.tables.size() : 0) {}

double KernelBandwidths::of(std::int32_t table, const TableKernel& kernel) const {
  if (!kernel.offloaded()) return device_;
  const double cached = kernel.load_factor;
  if (curves_.empty()) return kOffloadedShare * (cached * device_ + (1 - cached) * host_);
  const double served = cached > 0 ? hits(table, cached) : 0;
  return 1 / (served / device_ + (1 - served) / host_);
}

double KernelBandwidths::hits(std::int32_t table, double cached) const {
  LateCurve& late = curves_[static_cast<std::size_t>(table)];
  std::call_once(late.made, [&] {
    const Table& own = workload_.tables[static_cast<std::size_t>(table)];
    const double lookups = own.pooling_factor * static_cast<double>(workload_.batch_size);
    late.curve.emplace(own.reuse_histogram, lookups, own.rows);
  });
  return late.curve->hits(cached);
}

}  // namespace neuroshard
