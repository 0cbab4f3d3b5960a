#include "search/offload/memory_prices.h"

#include <cmath>
#include <cstddef>

namespace neuroshard::search {
namespace {

constexpr double kLeastPrice = 1e-24;  // ms a byte: a petabyte is not worth a nanosecond
constexpr double kMostPrice = 1e6;
constexpr int kPriceSteps = 60;  // of a bisection
constexpr int kOuterSteps = 40;

/// The lowest price that `keeps`, which higher ones do, too; kMostPrice where none does.
template <typename Keeps>
double lowest_price(const Keeps& keeps, int steps) {
  if (keeps(0.0)) return 0;
  if (!keeps(kMostPrice)) return kMostPrice;
  double low = std::log(kLeastPrice);
  double high = std::log(kMostPrice);
  for (int step = 0; step < steps; ++step) {
    const double middle = (low + high) / 2;
    (keeps(std::exp(middle)) ? high : low) = middle;
  }
  return std::exp(high);
}

/// With that price of host memory, the lowest of device memory at which its limit is kept.
PricedChoice with_host_price(std::span<const std::vector<KernelOption>> tables,
                             const MemoryLimits& limits, double host) {
  const auto keeps = [&](double price) {
    return cheapest_at(tables, limits, {price, host}).sums.device_bytes <= limits.device_bytes;
  };
  return cheapest_at(tables, limits, {lowest_price(keeps, kPriceSteps), host});
}

}  // namespace

PricedChoice cheapest_at(std::span<const std::vector<KernelOption>> tables,
                         const MemoryLimits& limits, const MemoryPrices& prices) {
  PricedChoice choice{prices, {}, {}, 0};
  choice.options.reserve(tables.size());
  for (const std::vector<KernelOption>& options : tables) {
    std::size_t cheapest = 0;
    double least = priced(options[0], prices);
    for (std::size_t k = 1; k < options.size(); ++k) {
      const double own = priced(options[k], prices);
      if (own < least) {
        least = own;
        cheapest = k;
      }
    }
    choice.options.push_back(static_cast<int>(cheapest));
    choice.sums.add(options[cheapest]);
    choice.bound += least;
  }
  choice.bound -= prices.device * limits.device_bytes + prices.host * limits.host_bytes;
  return choice;
}

PricedChoice find_prices(std::span<const std::vector<KernelOption>> tables,
                         const MemoryLimits& limits) {
  const auto keeps = [&](double price) {
    return with_host_price(tables, limits, price).sums.within(limits);
  };
  return with_host_price(tables, limits, lowest_price(keeps, kOuterSteps));
}

}  // namespace neuroshard::search
