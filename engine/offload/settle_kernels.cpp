#include "engine/offload/settle_kernels.h"

#include <algorithm>
#include <cstddef>

namespace neuroshard {
namespace {

/// The shards of one table on one device.
struct Holding {
  std::size_t device = 0;
  std::vector<ShardShape> shapes;
};

class Settling {
 public:
  Settling(const Plan& plan, KernelCosts& costs, std::vector<std::size_t>& kernels)
      : costs_(costs), kernels_(kernels) {
    const auto devices = static_cast<std::size_t>(plan.devices);
    left_.assign(devices, costs.cluster().memory_bytes);
    ms_.assign(devices, 0);
    on_device_.resize(devices);
    holdings_.resize(costs.tables());
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

  /// What the device saves, ms, when its shards of the table get that kernel; below 0 where some
  /// device has no memory for it.
  double saving(std::size_t table, std::size_t kernel, std::size_t device) {
    double saved = 0;
    for (const Holding& holding : holdings_[table]) {
      std::int64_t more = 0;
      for (const ShardShape& shape : holding.shapes) {
        more += costs_.shard_bytes(shape, kernel) - costs_.shard_bytes(shape, kernels_[table]);
        if (holding.device != device) continue;
        saved += costs_.shard_ms(shape, kernels_[table]) - costs_.shard_ms(shape, kernel);
      }
      if (more > std::max<std::int64_t>(0, left_[holding.device])) return -1;
    }
    return saved;
  }

  void take(std::size_t table, std::size_t kernel) {
    for (const Holding& holding : holdings_[table]) {
      for (const ShardShape& shape : holding.shapes) {
        left_[holding.device] -=
            costs_.shard_bytes(shape, kernel) - costs_.shard_bytes(shape, kernels_[table]);
        ms_[holding.device] +=
            costs_.shard_ms(shape, kernel) - costs_.shard_ms(shape, kernels_[table]);
      }
    }
    kernels_[table] = kernel;
  }

  /// Takes what saves the device most; false where nothing does.
  bool improve(std::size_t device) {
    double most = 0;
    std::size_t best_table = 0;
    std::size_t best_kernel = 0;
    for (const std::size_t table : on_device_[device]) {
      if (!costs_.kernel_of(table, kernels_[table]).offloaded()) continue;
      for (const std::size_t kernel : costs_.kernels(table)) {
        const double saved = saving(table, kernel, device);
        if (saved <= most) continue;
        most = saved;
        best_table = table;
        best_kernel = kernel;
      }
    }
    if (most > 0) take(best_table, best_kernel);
    return most > 0;
  }

  [[nodiscard]] std::size_t dearest_of(const std::vector<bool>& done) const {
    std::size_t dearest = ms_.size();
    for (std::size_t device = 0; device < ms_.size(); ++device) {
      if (!done[device] && (dearest == ms_.size() || ms_[device] > ms_[dearest])) dearest = device;
    }
    return dearest;
  }

  KernelCosts& costs_;
  std::vector<std::size_t>& kernels_;
  std::vector<std::int64_t> left_;  ///< bytes, by device
  std::vector<double> ms_;
  std::vector<std::vector<std::size_t>> on_device_;  ///< tables, each once
  std::vector<std::vector<Holding>> holdings_;       ///< by table
};

}  // namespace

void settle_kernels(const Plan& plan, KernelCosts& costs, std::vector<std::size_t>& kernels) {
  Settling(plan, costs, kernels).run();
}

}  // namespace neuroshard
