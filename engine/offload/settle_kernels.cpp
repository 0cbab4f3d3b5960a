#include "engine/offload/settle_kernels.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace neuroshard {
namespace {

/// Caches grow by ten-thousandths of their rows, which plans are easy to read with.
constexpr int kSteps = 10'000;
constexpr int kMostSteps = static_cast<int>(kMostCache * kSteps + 0.5);
constexpr int kLeastSteps = static_cast<int>(kLeastCache * kSteps + 0.5);

TableKernel cache_of(int steps) {
  return {ComputeKernel::kFusedUvmCaching, static_cast<double>(steps) / kSteps};
}

/// The shards of one table on one device.
struct Holding {
  std::size_t device = 0;
  std::vector<ShardShape> shapes;
};

class Settling {
 public:
  Settling(KernelCosts& costs, const Plan& plan)
      : costs_(costs),
        kernels_(costs.tables()),
        left_(static_cast<std::size_t>(plan.devices), costs.cluster().memory_bytes),
        ms_(left_.size()),
        on_device_(left_.size()),
        holdings_(costs.tables()) {
    for (const OffloadedTable& table : plan.offloaded) {
      kernels_[static_cast<std::size_t>(table.table)] = table.kernel;
    }
    const std::vector<ShardShape> shapes = shapes_of(plan);
    for (std::size_t k = 0; k < shapes.size(); ++k) add(plan.shards[k], shapes[k]);
  }

  void run() {
    std::vector<bool> done(ms_.size());
    while (true) {
      const std::size_t dearest = dearest_of(done);
      if (dearest == ms_.size()) return;
      if (!improve(dearest)) done[dearest] = true;
    }
  }

  [[nodiscard]] std::vector<OffloadedTable> offloaded() const {
    std::vector<OffloadedTable> tables;
    for (std::size_t table = 0; table < kernels_.size(); ++table) {
      if (!kernels_[table].offloaded()) continue;
      tables.push_back({static_cast<std::int32_t>(table), kernels_[table]});
    }
    return tables;
  }

 private:
  void add(const Shard& shard, const ShardShape& shape) {
    const auto table = static_cast<std::size_t>(shard.table);
    const bool everywhere = shard.device == kEveryDevice;
    const std::size_t begin = everywhere ? 0 : static_cast<std::size_t>(shard.device);
    const std::size_t end = everywhere ? ms_.size() : begin + 1;
    for (std::size_t device = begin; device < end; ++device) {
      left_[device] -= costs_.shard_bytes(shape, kernels_[table]);
      ms_[device] += costs_.shard_ms(shape, kernels_[table]);
      if (everywhere) continue;
      std::vector<Holding>& of_table = holdings_[table];
      const auto known = std::find_if(of_table.begin(), of_table.end(),
                                      [&](const Holding& one) { return one.device == device; });
      if (known != of_table.end()) {
        known->shapes.push_back(shape);
        continue;
      }
      of_table.push_back({device, {shape}});
      on_device_[device].push_back(table);
    }
  }

  /// Bytes and milliseconds that a device's shards of the table take more with that kernel.
  std::int64_t more_bytes(const Holding& holding, std::size_t table, const TableKernel& kernel) {
    std::int64_t more = 0;
    for (const ShardShape& shape : holding.shapes) {
      more += costs_.shard_bytes(shape, kernel) - costs_.shard_bytes(shape, kernels_[table]);
    }
    return more;
  }
  double more_ms(const Holding& holding, std::size_t table, const TableKernel& kernel) {
    double more = 0;
    for (const ShardShape& shape : holding.shapes) {
      more += costs_.shard_ms(shape, kernel) - costs_.shard_ms(shape, kernels_[table]);
    }
    return more;
  }

  /// Whether all devices that hold the table have memory for that.
  bool fits(std::size_t table, const TableKernel& kernel) {
    return std::all_of(holdings_[table].begin(), holdings_[table].end(),
                       [&](const Holding& holding) {
                         const std::int64_t left = std::max<std::int64_t>(0, left_[holding.device]);
                         return more_bytes(holding, table, kernel) <= left;
                       });
  }

  /// The largest cache that fits; nothing where none does that is larger than the table has.
  std::optional<TableKernel> largest_cache(std::size_t table) {
    int most = kMostSteps + 1;  // that does not fit
    int least = std::max(kLeastSteps, static_cast<int>(kernels_[table].load_factor * kSteps) + 1);
    if (least >= most || !fits(table, cache_of(least))) return std::nullopt;
    while (most - least > 1) {
      const int middle = (least + most) / 2;
      (fits(table, cache_of(middle)) ? least : most) = middle;
    }
    return cache_of(least);
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

  void take(std::size_t table, const TableKernel& kernel) {
    for (const Holding& holding : holdings_[table]) {
      left_[holding.device] -= more_bytes(holding, table, kernel);
      ms_[holding.device] += more_ms(holding, table, kernel);
    }
    kernels_[table] = kernel;
  }

  /// Takes what saves the device most; false where nothing does.
  bool improve(std::size_t device) {
    double least = 0;
    std::pair<std::size_t, TableKernel> best;
    for (const std::size_t table : on_device_[device]) {
      if (!kernels_[table].offloaded()) continue;
      const auto holding = std::find_if(holdings_[table].begin(), holdings_[table].end(),
                                        [&](const Holding& one) { return one.device == device; });
      for (const ComputeKernel kind : all_compute_kernels()) {
        const std::optional<TableKernel> kernel = fitting(table, kind);
        const double more = kernel ? more_ms(*holding, table, *kernel) : 0;
        if (more >= least) continue;
        least = more;
        best = {table, *kernel};
      }
    }
    if (least < 0) take(best.first, best.second);
    return least < 0;
  }

  [[nodiscard]] std::size_t dearest_of(const std::vector<bool>& done) const {
    std::size_t dearest = ms_.size();
    for (std::size_t device = 0; device < ms_.size(); ++device) {
      if (!done[device] && (dearest == ms_.size() || ms_[device] > ms_[dearest])) dearest = device;
    }
    return dearest;
  }

  KernelCosts& costs_;
  std::vector<TableKernel> kernels_;  ///< by table
  std::vector<std::int64_t> left_;    ///< bytes, by device
  std::vector<double> ms_;
  std::vector<std::vector<std::size_t>> on_device_;  ///< tables, each once
  std::vector<std::vector<Holding>> holdings_;       ///< by table
};

}  // namespace

void settle_kernels(KernelCosts& costs, Plan& plan) {
  Settling settling(costs, plan);
  settling.run();
  plan.offloaded = settling.offloaded();
}

}  // namespace neuroshard
