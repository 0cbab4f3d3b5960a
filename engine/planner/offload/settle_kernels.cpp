#include "engine/planner/offload/settle_kernels.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

/// Caches grow by ten-thousandths of their rows, which plans are easy to read with.
constexpr int kCacheSteps = 10'000;
constexpr int kMostSteps = static_cast<int>(kMostCache * kCacheSteps + 0.5);
constexpr int kLeastSteps = static_cast<int>(kLeastCache * kCacheSteps + 0.5);

/// Better kernels that a device gets: few take all memory, and each is looked for among all tables.
constexpr int kMostTaken = 32;

TableKernel cache_of(int steps) {
  return {ComputeKernel::kFusedUvmCaching, static_cast<double>(steps) / kCacheSteps};
}

class Settling {
 public:
  Settling(const KernelCosts& costs, std::span<const ShardShape> shapes,
           const Arrangement& arrangement)
      : costs_(costs), shapes_(shapes), devices_(arrangement.devices) {
    const auto devices = static_cast<std::size_t>(costs.cluster().devices);
    settled_ = {arrangement.kernels, std::vector<double>(devices),
                std::vector<std::int64_t>(devices, costs.cluster().memory_bytes)};
    needed_.resize(devices);
    better_.resize(devices);
    listed_.resize(devices);
    per_step_.resize(devices);
    find_shards_of_tables();
    place();
    find_offloaded_on_devices();
  }

  Settled run(double most_ms) {
    std::vector<bool> done(settled_.ms.size());
    std::vector<int> taken(done.size());
    while (true) {
      // Always the slowest, which may be another one by now: a kernel is that of all devices which
      // hold the table.
      const std::size_t dearest = dearest_of(done);
      if (dearest == done.size()) return std::move(settled_);
      done[dearest] = !improve(dearest) || ++taken[dearest] == kMostTaken;
      if (done[dearest] && settled_.ms[dearest] > most_ms) return std::move(settled_);
    }
  }

 private:
  /// Shards [begin, end) are a table's.
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  struct Better {
    double more_ms = 0;
    std::size_t table = 0;
    TableKernel kernel;
  };
  static bool saves_less(const Better& a, const Better& b) {
    return std::pair(a.more_ms, a.table) > std::pair(b.more_ms, b.table);
  }

  void find_shards_of_tables() {
    ranges_.resize(settled_.kernels.size());
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      Range& range = ranges_[static_cast<std::size_t>(shapes_[k].table)];
      if (range.end == 0) range.begin = k;
      range.end = k + 1;
    }
  }

  void place() {
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      const TableKernel& kernel = settled_.kernels[static_cast<std::size_t>(shapes_[k].table)];
      bytes_.push_back(costs_.shard_bytes(shapes_[k], kernel));
      ms_.push_back(costs_.shard_ms(shapes_[k], kernel));
      const bool everywhere = devices_[k] == kEveryDevice;
      const std::size_t begin = everywhere ? 0 : device_of(k);
      const std::size_t end = everywhere ? settled_.ms.size() : begin + 1;
      for (std::size_t device = begin; device < end; ++device) {
        settled_.left[device] -= bytes_[k];
        settled_.ms[device] += ms_[k];
      }
    }
  }

  /// Those of device d are tables_on_[first_on_[d]] and on; a table may come more than once.
  void find_offloaded_on_devices() {
    const auto each = [&](const auto& take) {
      for (std::size_t k = 0; k < shapes_.size(); ++k) {
        const auto table = static_cast<std::size_t>(shapes_[k].table);
        if (settled_.kernels[table].offloaded()) take(device_of(k), table);
      }
    };
    first_on_.assign(settled_.ms.size() + 1, 0);
    each([&](std::size_t device, std::size_t) { ++first_on_[device + 1]; });
    for (std::size_t d = 1; d < first_on_.size(); ++d) first_on_[d] += first_on_[d - 1];
    tables_on_.resize(first_on_.back());
    std::vector<std::size_t> next(first_on_.begin(), first_on_.end() - 1);
    each([&](std::size_t device, std::size_t table) { tables_on_[next[device]++] = table; });
  }

  [[nodiscard]] std::size_t device_of(std::size_t shard) const {
    return static_cast<std::size_t>(devices_[shard]);
  }

  /// Whether all devices that hold the table have memory for that kernel: needed_ is what it takes
  /// more on each of them.
  bool fits(std::size_t table, const TableKernel& kernel) {
    const auto [begin, end] = ranges_[table];
    for (std::size_t k = begin; k < end; ++k) needed_[device_of(k)] = 0;
    bool all = true;
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t device = device_of(k);
      needed_[device] += costs_.shard_bytes(shapes_[k], kernel) - bytes_[k];
      all &= needed_[device] <= std::max<std::int64_t>(0, settled_.left[device]);
    }
    return all;
  }

  /// Steps that a cache of the table, of which needed_ is known, may have more, but for rounding.
  int more_steps(std::size_t table) {
    const auto [begin, end] = ranges_[table];
    const Table& given = costs_.workload().tables[table];
    for (std::size_t k = begin; k < end; ++k) per_step_[device_of(k)] = 0;
    double least = kCacheSteps;
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t device = device_of(k);
      per_step_[device] += static_cast<double>(shapes_[k].rows) / kCacheSteps *
                           static_cast<double>(cached_row_bytes(given, shapes_[k].dim));
      const std::int64_t room = std::max<std::int64_t>(0, settled_.left[device]) - needed_[device];
      least = std::min(least, static_cast<double>(room) / per_step_[device]);
    }
    return static_cast<int>(least);
  }

  /// The largest cache that fits; nothing where none does that is larger than the table has.
  std::optional<TableKernel> largest_cache(std::size_t table) {
    const double now = settled_.kernels[table].load_factor;
    const int least = std::max(kLeastSteps, static_cast<int>(now * kCacheSteps) + 1);
    if (least > kMostSteps || !fits(table, cache_of(least))) return std::nullopt;
    int low = least;            // fits
    int high = kMostSteps + 1;  // does not
    const auto look_at = [&](int steps) {
      if (steps > low && steps < high) (fits(table, cache_of(steps)) ? low : high) = steps;
    };
    // Right but for rounding: two looks at memory in place of a dozen.
    const int guess = least + more_steps(table);
    look_at(guess);
    look_at(guess + 1);
    while (high - low > 1) look_at((low + high) / 2);
    return cache_of(low);
  }

  /// The cheapest kernel of that kind that fits, if any.
  std::optional<TableKernel> fitting(std::size_t table, ComputeKernel kind) {
    const Table& given = costs_.workload().tables[table];
    if (!given.kernels.allows(kind)) return std::nullopt;
    const bool cached = kind == ComputeKernel::kFusedUvmCaching;
    if (cached && caches_freely(given)) return largest_cache(table);
    const TableKernel kernel{kind, cached ? given.kernels.load_factor : 0};
    return fits(table, kernel) ? std::optional(kernel) : std::nullopt;
  }

  /// Milliseconds that the device's shards of the table take more with that kernel.
  double more_ms(std::size_t table, std::size_t device, const TableKernel& kernel) {
    double more = 0;
    for (std::size_t k = ranges_[table].begin; k < ranges_[table].end; ++k) {
      if (device_of(k) == device) more += costs_.shard_ms(shapes_[k], kernel) - ms_[k];
    }
    return more;
  }

  void take(const Better& better) {
    for (std::size_t k = ranges_[better.table].begin; k < ranges_[better.table].end; ++k) {
      const std::int64_t bytes = costs_.shard_bytes(shapes_[k], better.kernel);
      const double ms = costs_.shard_ms(shapes_[k], better.kernel);
      settled_.left[device_of(k)] -= bytes - bytes_[k];
      // More may fit by now, also on devices that share a table with that one.
      if (bytes < bytes_[k]) std::fill(listed_.begin(), listed_.end(), false);
      settled_.ms[device_of(k)] += ms - ms_[k];
      bytes_[k] = bytes;
      ms_[k] = ms;
    }
    settled_.kernels[better.table] = better.kernel;
  }

  /// The kernel of the table that saves the device most now, if any does.
  Better best_of(std::size_t table, std::size_t device) {
    Better best{0, table, {}};
    for (const ComputeKernel kind : all_compute_kernels()) {
      const std::optional<TableKernel> kernel = fitting(table, kind);
      const double more = kernel ? more_ms(table, device, *kernel) : 0;
      if (more < best.more_ms) best = {more, table, *kernel};
    }
    return best;
  }

  /// Of all tables in host memory that the device has shards of.
  void list_better(std::size_t device) {
    std::vector<Better>& better = better_[device];
    better.clear();
    for (std::size_t k = first_on_[device]; k < first_on_[device + 1]; ++k) {
      if (k > first_on_[device] && tables_on_[k - 1] == tables_on_[k]) continue;
      const Better best = best_of(tables_on_[k], device);
      if (best.more_ms < 0) better.push_back(best);
    }
    std::make_heap(better.begin(), better.end(), saves_less);
    listed_[device] = true;
  }

  /// Takes what saves the device most; false where nothing does. While memory is only taken, what
  /// tables saved when they were looked at last is the most that they save now.
  bool improve(std::size_t device) {
    std::vector<Better>& better = better_[device];
    if (!listed_[device]) list_better(device);
    while (!better.empty()) {
      std::pop_heap(better.begin(), better.end(), saves_less);
      const Better best = best_of(better.back().table, device);
      better.pop_back();
      if (best.more_ms >= 0) continue;
      if (better.empty() || !saves_less(best, better.front())) {
        take(best);
        return true;
      }
      better.push_back(best);
      std::push_heap(better.begin(), better.end(), saves_less);
    }
    return false;
  }

  [[nodiscard]] std::size_t dearest_of(const std::vector<bool>& done) const {
    std::size_t dearest = done.size();
    for (std::size_t device = 0; device < done.size(); ++device) {
      const bool more = dearest == done.size() || settled_.ms[device] > settled_.ms[dearest];
      if (!done[device] && more) dearest = device;
    }
    return dearest;
  }

  const KernelCosts& costs_;
  const std::span<const ShardShape> shapes_;
  const std::span<const std::int32_t> devices_;  ///< of shards
  Settled settled_;
  std::vector<std::int64_t> bytes_;  ///< of shards
  std::vector<double> ms_;           ///< of shards
  std::vector<Range> ranges_;        ///< by table
  std::vector<std::size_t> first_on_;
  std::vector<std::size_t> tables_on_;
  std::vector<std::vector<Better>> better_;  ///< heaps, by device
  std::vector<bool> listed_;                 ///< whether they are, by device
  std::vector<std::int64_t> needed_;         ///< by device
  std::vector<double> per_step_;             ///< bytes, by device
};

}  // namespace

Arrangement arrangement_of(const Plan& plan, std::size_t tables) {
  Arrangement arrangement{{}, std::vector<TableKernel>(tables)};
  for (const Shard& shard : plan.shards) {
    arrangement.devices.push_back(shard.device);
    arrangement.kernels[static_cast<std::size_t>(shard.table)] = shard.kernel;
  }
  return arrangement;
}

std::size_t Settled::dearest() const {
  return static_cast<std::size_t>(std::max_element(ms.begin(), ms.end()) - ms.begin());
}

Settled settle(const KernelCosts& costs, std::span<const ShardShape> shapes,
               const Arrangement& arrangement, double most_ms) {
  return Settling(costs, shapes, arrangement).run(most_ms);
}

void settle_kernels(const KernelCosts& costs, Plan& plan) {
  const std::vector<ShardShape> shapes = shapes_of(plan);
  set_kernels(settle(costs, shapes, arrangement_of(plan, costs.tables())).kernels, plan);
}

void set_kernels(std::span<const TableKernel> kernels, Plan& plan) {
  for (Shard& shard : plan.shards) {
    if (shard.device == kEveryDevice) continue;
    shard.kernel = kernels[static_cast<std::size_t>(shard.table)];
  }
}

}  // namespace neuroshard
