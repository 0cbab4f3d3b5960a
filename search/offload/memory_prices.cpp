#include "search/offload/memory_prices.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

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

/// Tries prices, and remembers the highest bound of all.
class Pricing {
 public:
  Pricing(std::span<const std::vector<KernelOption>> tables, const MemoryLimits& limits)
      : tables_(tables), limits_(limits) {}

  FoundPrices run() {
    const auto keeps = [&](double price) { return at_host_price(price).sums.within(limits_); };
    PricedChoice cheapest = at_host_price(lowest_price(keeps, kOuterSteps));
    return {std::move(cheapest), bound_};
  }

 private:
  PricedChoice at(const MemoryPrices& prices) {
    PricedChoice choice = cheapest_at(tables_, limits_, prices);
    bound_ = std::max(bound_, choice.bound);
    return choice;
  }

  /// At the lowest price of device memory at which its limit is kept.
  PricedChoice at_host_price(double host) {
    const auto keeps = [&](double price) {
      return at({price, host}).sums.device_bytes <= limits_.device_bytes;
    };
    return at({lowest_price(keeps, kPriceSteps), host});
  }

  const std::span<const std::vector<KernelOption>> tables_;
  const MemoryLimits limits_;
  double bound_ = 0;  // costs are at least 0
};

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
  const double paid = prices.device * limits.device_bytes + prices.host * limits.host_bytes;
  // Of as many additions of numbers no larger than these: at high prices little is left.
  const double rounding = static_cast<double>(tables.size() + 4) *
                          std::numeric_limits<double>::epsilon() * (choice.bound + paid);
  choice.bound -= paid + rounding;
  return choice;
}

FoundPrices find_prices(std::span<const std::vector<KernelOption>> tables,
                        const MemoryLimits& limits) {
  return Pricing(tables, limits).run();
}

}  // namespace neuroshard::search
