#pragma once

#include <span>
#include <vector>

#include "search/offload/kernel_option.h"

namespace neuroshard::search {

/// Milliseconds a byte: what a table pays for memory beside its cost (Lagrange multipliers).
struct MemoryPrices {
  double device = 0;
  double host = 0;
};

/// Cost and memory at these prices.
inline double priced(const KernelOption& option, const MemoryPrices& prices) {
  return option.cost + prices.device * option.device_bytes + prices.host * option.host_bytes;
}

/// What a choice adds up to.
struct ChoiceSums {
  double cost = 0;
  double device_bytes = 0;
  double host_bytes = 0;

  [[nodiscard]] bool within(const MemoryLimits& limits) const {
    return device_bytes <= limits.device_bytes && host_bytes <= limits.host_bytes;
  }
  void add(const KernelOption& option, int sign = 1) {
    cost += sign * option.cost;
    device_bytes += sign * option.device_bytes;
    host_bytes += sign * option.host_bytes;
  }
};

/// Each table's cheapest option at the prices.
struct PricedChoice {
  MemoryPrices prices;
  std::vector<int> options;
  ChoiceSums sums;
  double bound = 0;  ///< of the cost of any choice within the limits, less what rounding may add
};

PricedChoice cheapest_at(std::span<const std::vector<KernelOption>> tables,
                         const MemoryLimits& limits, const MemoryPrices& prices);

struct FoundPrices {
  PricedChoice cheapest;  ///< at them
  double bound = 0;       ///< the highest of all prices that were tried
};

/// The lowest prices, but for rounding, at which the cheapest options keep the limits; where none
/// are high enough, very high ones, at which a bound says nothing.
FoundPrices find_prices(std::span<const std::vector<KernelOption>> tables,
                        const MemoryLimits& limits);

}  // namespace neuroshard::search
