#include "engine/planner/offload/choose_kernels.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>

namespace neuroshard {
namespace {

constexpr int kRounds = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Option = KernelCosts::Option;

/// What is left of each table's options, and which of its own each is.
struct Options {
  std::vector<std::vector<search::KernelOption>> sums;
  std::vector<std::vector<std::size_t>> own;
};

/// Keeps those whose pieces are within `most` or, where none's are, the smallest.
template <typename Size, typename SizeOf>
void keep_small(std::span<const Option> all, Size most, const SizeOf& size_of,
                std::vector<std::size_t>& kept) {
  Size least = std::numeric_limits<Size>::max();
  for (const std::size_t k : kept) least = std::min(least, size_of(all[k]));
  const Size limit = std::max(most, least);
  std::erase_if(kept, [&](std::size_t k) { return size_of(all[k]) > limit; });
}

/// Options that cost no less and need no less memory of either kind than another go.
void keep_useful(std::span<const Option> all, std::vector<std::size_t>& kept) {
  std::stable_sort(kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(all[a].sums.device_bytes, all[a].sums.cost) <
           std::pair(all[b].sums.device_bytes, all[b].sums.cost);
  });
  // Of host bytes there are few: none, and those of each division.
  std::map<double, double> least;  // cost so far, by host bytes
  std::erase_if(kept, [&](std::size_t k) {
    const auto& [cost, device, host] = all[k].sums;
    for (const auto& [bytes, least_cost] : least) {
      if (bytes <= host && least_cost <= cost) return true;
    }
    const auto [own, added] = least.emplace(host, cost);
    if (!added) own->second = std::min(own->second, cost);
    return false;
  });
}

/// Leaves the divisions alone that are no finer than `divided`, where a device has memory for one.
void keep_coarse(std::span<const Option> all, Divided divided, std::int64_t memory,
                 std::vector<std::size_t>& kept) {
  const auto fits = [&](std::size_t k) {
    return all[k].divided >= divided && all[k].largest_bytes <= memory;
  };
  if (std::none_of(kept.begin(), kept.end(), fits)) return;
  std::erase_if(kept, [&](std::size_t k) { return !fits(k); });
}

Options options_within(const KernelCosts& costs, double most_ms, Divided divided) {
  Options options;
  const std::int64_t memory = costs.cluster().memory_bytes;
  for (std::size_t table = 0; table < costs.tables(); ++table) {
    const std::span<const Option> all = costs.options(table);
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < all.size(); ++k) kept.push_back(k);
    keep_coarse(all, divided, memory, kept);
    keep_small(
        all, memory, [](const Option& option) { return option.largest_bytes; }, kept);
    keep_small(
        all, most_ms, [](const Option& option) { return option.dearest_ms; }, kept);
    keep_useful(all, kept);
    std::vector<search::KernelOption>& sums = options.sums.emplace_back();
    for (const std::size_t k : kept) sums.push_back(all[k].sums);
    options.own.push_back(std::move(kept));
  }
  return options;
}

}  // namespace

std::optional<OffloadChoice> choose_kernels(const KernelCosts& costs,
                                            const search::MemoryLimits& limits, Divided divided) {
  std::optional<OffloadChoice> chosen;
  double most_ms = kInfinity;
  for (int round = 0; round < kRounds; ++round) {
    const Options options = options_within(costs, most_ms, divided);
    const std::optional<search::KernelChoice> choice = search::choose_kernels(options.sums, limits);
    if (!choice) break;
    chosen.emplace();
    chosen->by_rows = divided == Divided::kFreely;
    double dearest = 0;
    for (std::size_t table = 0; table < costs.tables(); ++table) {
      const auto place = static_cast<std::size_t>(choice->options[table]);
      const Option& option = costs.options(table)[options.own[table][place]];
      chosen->kernels.push_back(option.kernel);
      dearest = std::max(dearest, option.dearest_ms);
    }
    const double level = choice->cost / costs.cluster().devices;
    if (dearest <= level || level >= most_ms) break;
    most_ms = level;
  }
  return chosen;
}

}  // namespace neuroshard
