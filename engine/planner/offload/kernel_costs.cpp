#include "engine/planner/offload/kernel_costs.h"

#include <algorithm>
#include <array>

#include "engine/core/plan_bytes.h"
#include "engine/cost_model/make_evaluator.h"

namespace neuroshard {
namespace {

constexpr TableKernel cache_of(double load_factor) {
  return {ComputeKernel::kFusedUvmCaching, load_factor};
}

constexpr std::array kKernels{TableKernel{ComputeKernel::kFused, 0},
                              TableKernel{ComputeKernel::kFusedUvm, 0},
                              cache_of(kLeastCache),
                              cache_of(0.02),
                              cache_of(0.03),
                              cache_of(0.05),
                              cache_of(0.07),
                              cache_of(0.1),
                              cache_of(0.15),
                              cache_of(0.2),
                              cache_of(0.25),
                              cache_of(0.3),
                              cache_of(0.4),
                              cache_of(0.5),
                              cache_of(0.6),
                              cache_of(0.8),
                              cache_of(kMostCache)};

}  // namespace

std::span<const TableKernel> kernels_to_choose_from() { return kKernels; }

TableKernel own_kernel(const Table& table, TableKernel kernel) {
  const bool cached = kernel.kernel == ComputeKernel::kFusedUvmCaching;
  if (cached && table.kernels.load_factor > 0) kernel.load_factor = table.kernels.load_factor;
  return kernel;
}

bool is_replica(const Table& table) {
  const AllowedSharding& allowed = table.sharding;
  return !allowed.whole && !allowed.columns && !allowed.rows;
}

KernelCosts::KernelCosts(const Workload& workload, const Cluster& cluster, const CostModels& models,
                         const DivisionRules& rules)
    : workload_(workload),
      cluster_(cluster),
      models_(models),
      kernel_costs_(make_kernel_costs(models, workload.batch_size, cluster.devices)),
      rules_(rules),
      tried_(workload) {
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    list_options(static_cast<std::int32_t>(table));
  }
}

TableKernel KernelCosts::kernel_of(std::size_t table, std::size_t kernel) const {
  return own_kernel(workload_.tables[table], kKernels[kernel]);
}

void KernelCosts::list_options(std::int32_t index) {
  const auto place = static_cast<std::size_t>(index);
  const Table& given = workload_.tables[place];
  std::vector<TableDivision> divisions = likely_divisions(given, index, cluster_.devices, rules_);
  if (is_replica(given)) {
    divisions = {{{{index, given.rows, given.dim, 0, true}, cluster_.devices}}};
  }
  std::vector<std::size_t>& kernels = kernels_.emplace_back();
  std::vector<Option>& options = options_.emplace_back();
  for (std::size_t k = 0; k < kKernels.size(); ++k) {
    const TableKernel kernel = kernel_of(place, k);
    const bool again = std::any_of(kernels.begin(), kernels.end(), [&](std::size_t other) {
      return kernel_of(place, other) == kernel;
    });
    if (again || !(is_replica(given) ? k == 0 : given.kernels.allows(kernel.kernel))) continue;
    kernels.push_back(k);
    for (const TableDivision& division : divisions) options.push_back(option_of(division, k));
  }
}

KernelCosts::Option KernelCosts::option_of(const TableDivision& division, std::size_t kernel) {
  const std::int32_t index = division.front().shape.table;
  const auto place = static_cast<std::size_t>(index);
  const TableKernel own = kernel_of(place, kernel);
  Option option{kernel, {}, 0, 0, divided_in(division, workload_.tables[place].rows)};
  for (const auto& [shape, count] : division) {
    const double ms = shard_ms(shape, own);
    const std::int64_t bytes = shard_bytes(shape, own);
    const std::int64_t on_host = host_bytes(shape, own);
    option.sums.cost += count * ms;
    option.sums.device_bytes += count * static_cast<double>(bytes);
    option.sums.host_bytes += count * static_cast<double>(on_host);
    option.dearest_ms = std::max(option.dearest_ms, ms);
    option.largest_bytes = std::max(option.largest_bytes, bytes);
  }
  return option;
}

const Table& KernelCosts::table_with(std::int32_t index, const TableKernel& kernel) {
  Table& table = tried_.tables[static_cast<std::size_t>(index)];
  table.kernel = kernel;
  return table;
}

double KernelCosts::shard_ms(const ShardShape& shape, const TableKernel& kernel) {
  return kernel_costs_->shard_ms(table_with(shape.table, kernel), shape);
}

std::int64_t KernelCosts::shard_bytes(const ShardShape& shape, const TableKernel& kernel) {
  const Table& table = table_with(shape.table, kernel);
  return bytes_on_device(table, shape.rows, shape.dim, shape.replicated);
}

std::int64_t KernelCosts::host_bytes(const ShardShape& shape, const TableKernel& kernel) {
  return bytes_on_host(table_with(shape.table, kernel), shape.rows, shape.dim);
}

Workload KernelCosts::with_kernels(const OffloadChoice& choice) const {
  Workload workload = workload_;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    Table& table = workload.tables[index];
    table.kernel = kernel_of(index, choice.kernels[index]);
    const bool elsewhere = table.kernel.offloaded() || !table.kernels.fused;
    if (!elsewhere || is_replica(table)) continue;
    AllowedSharding& allowed = table.sharding;
    allowed.data_parallel = false;
    allowed.rows &= choice.by_rows || !(allowed.whole || allowed.columns);
  }
  return workload;
}

}  // namespace neuroshard
