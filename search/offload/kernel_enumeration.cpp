#include "search/offload/kernel_enumeration.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace neuroshard::search {
namespace {

constexpr int kMostSteps = 300'000;
constexpr std::size_t kMostDepth = 1'000;  // of calls in one another
constexpr double kWorthIt = 1e-9;          // share of the cost that a better choice has to save

/// One option and how much dearer than its table's cheapest it is at the prices.
struct Candidate {
  int option = 0;
  double extra = 0;
};

class Enumeration {
 public:
  Enumeration(std::span<const std::vector<KernelOption>> tables, const MemoryLimits& limits,
              const PricedChoice& cheapest, std::vector<int>& best, ChoiceSums& sums)
      : tables_(tables), limits_(limits), bound_(cheapest.bound), best_(best), sums_(sums) {
    most_ = best_.empty() ? std::numeric_limits<double>::infinity() : below(sums_.cost);
    own_.resize(tables.size());
    for (std::size_t table = 0; table < tables.size(); ++table) {
      places_.push_back({table, candidates(tables[table], cheapest.prices)});
    }
    std::stable_sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
      return a.second_best() > b.second_best();
    });
    find_least_memory();
  }

  /// Places whose second best option is in no better choice have their best one, and so have those
  /// beyond the deepest to go; where no choice is known, any option may be in a better one.
  void run() {
    std::size_t depth = 0;
    ChoiceSums sums;
    for (; depth < places_.size(); ++depth) {
      const auto& [table, candidates] = places_[depth];
      const bool deep = places_.size() - depth > kMostDepth;
      if (!deep && bound_ + places_[depth].second_best() < most_) break;
      own_[table] = candidates.front().option;
      sums.add(tables_[table][static_cast<std::size_t>(candidates.front().option)]);
    }
    if (fits(sums, depth)) go_on(depth, bound_, sums);
  }

 private:
  struct Place {
    std::size_t table;
    std::vector<Candidate> candidates;
    [[nodiscard]] double second_best() const {
      return candidates.size() > 1 ? candidates[1].extra : std::numeric_limits<double>::infinity();
    }
  };

  static double below(double cost) { return cost - cost * kWorthIt; }

  static std::vector<Candidate> candidates(const std::vector<KernelOption>& options,
                                           const MemoryPrices& prices) {
    std::vector<Candidate> list;
    double least = std::numeric_limits<double>::infinity();
    for (const KernelOption& option : options) least = std::min(least, priced(option, prices));
    for (std::size_t k = 0; k < options.size(); ++k) {
      list.push_back({static_cast<int>(k), priced(options[k], prices) - least});
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const Candidate& a, const Candidate& b) { return a.extra < b.extra; });
    return list;
  }

  /// least_[k]: the least of either memory that places from k on need.
  void find_least_memory() {
    least_.resize(places_.size() + 1);
    for (std::size_t k = places_.size(); k-- > 0;) {
      double device = std::numeric_limits<double>::infinity();
      double host = device;
      for (const KernelOption& option : tables_[places_[k].table]) {
        device = std::min(device, option.device_bytes);
        host = std::min(host, option.host_bytes);
      }
      least_[k] = {least_[k + 1].device_bytes + device, least_[k + 1].host_bytes + host};
    }
  }

  /// Whether there is memory left for the places from `depth` on.
  [[nodiscard]] bool fits(ChoiceSums sums, std::size_t depth) const {
    sums.device_bytes += least_[depth].device_bytes;
    sums.host_bytes += least_[depth].host_bytes;
    return sums.within(limits_);
  }

  /// The places from `depth` on; those before have `sums` and a bound of `bound` so.
  void go_on(std::size_t depth, double bound, const ChoiceSums& sums) {
    if (depth == places_.size()) {
      if (sums.cost >= most_) return;
      best_ = own_;
      sums_ = sums;
      most_ = below(sums.cost);
      return;
    }
    const auto& [table, candidates] = places_[depth];
    for (const Candidate& candidate : candidates) {
      if (bound + candidate.extra >= most_ || ++steps_ > kMostSteps) return;
      ChoiceSums own = sums;
      own.add(tables_[table][static_cast<std::size_t>(candidate.option)]);
      if (!fits(own, depth + 1)) continue;
      own_[table] = candidate.option;
      go_on(depth + 1, bound + candidate.extra, own);
    }
  }

  const std::span<const std::vector<KernelOption>> tables_;
  const MemoryLimits limits_;
  const double bound_;
  std::vector<int>& best_;
  ChoiceSums& sums_;
  double most_;  ///< what a choice has to cost less than
  std::vector<Place> places_;
  std::vector<MemoryLimits> least_;
  std::vector<int> own_;
  int steps_ = 0;
};

}  // namespace

void enumerate_kernels(std::span<const std::vector<KernelOption>> tables,
                       const MemoryLimits& limits, const PricedChoice& cheapest,
                       std::vector<int>& best, ChoiceSums& sums) {
  Enumeration(tables, limits, cheapest, best, sums).run();
}

}  // namespace neuroshard::search
