#include "engine/planner/offload/kernel_costs.h"

#include <algorithm>
#include <array>

#include "engine/core/shard_bytes.h"
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

bool is_replica(const search::TableSpace& table) {
  const AllowedSharding& allowed = table.sharding;
  return !allowed.whole && !allowed.columns && !allowed.rows;
}

KernelCosts::KernelCosts(const search::Problem& problem, const CostModels& models,
                         const DivisionRules& rules)
    : problem_(problem),
      kernel_costs_(make_kernel_costs(models, problem.workload, problem.cluster.devices,
                                      problem.cluster.devices_per_host, problem.cluster.exchange)),
      rules_(rules) {
  for (std::size_t table = 0; table < problem.space.tables.size(); ++table) {
    list_options(static_cast<std::int32_t>(table));
  }
}

TableKernel KernelCosts::kernel_of(std::size_t table, std::size_t kernel) const {
  return own_kernel(problem_.workload.tables[table], kKernels[kernel]);
}

void KernelCosts::list_options(std::int32_t index) {
  const auto place = static_cast<std::size_t>(index);
  const search::TableSpace& own = problem_.space.tables[place];
  const std::int32_t devices = problem_.cluster.devices;
  std::vector<TableDivision> divisions = likely_divisions(own, index, devices, rules_);
  if (is_replica(own)) divisions = {{{problem_.space.replica(index), devices}}};
  std::vector<std::size_t>& kernels = kernels_.emplace_back();
  std::vector<Option>& options = options_.emplace_back();
  for (std::size_t k = 0; k < kKernels.size(); ++k) {
    const TableKernel kernel = kernel_of(place, k);
    // A table whose cache has a size of its own has one kernel under all sizes: that is one choice.
    const bool again = std::any_of(kernels.begin(), kernels.end(), [&](std::size_t other) {
      return kernel_of(place, other) == kernel;
    });
    if (again || !(is_replica(own) ? k == 0 : own.table->kernels.allows(kernel.kernel))) continue;
    kernels.push_back(k);
    for (const TableDivision& division : divisions) options.push_back(option_of(division, k));
  }
}

KernelCosts::Option KernelCosts::option_of(const TableDivision& division,
                                           std::size_t kernel) const {
  const std::int32_t index = division.front().shape.table;
  const auto place = static_cast<std::size_t>(index);
  const TableKernel own = kernel_of(place, kernel);
  Option option{kernel, {}, 0, 0, divided_in(division, problem_.workload.tables[place].rows)};
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

double KernelCosts::shard_ms(ShardShape shape, const TableKernel& kernel) const {
  shape.kernel = kernel;
  return kernel_costs_->shard_ms(table_of(shape), shape);
}

std::int64_t KernelCosts::shard_bytes(ShardShape shape, const TableKernel& kernel) const {
  shape.kernel = kernel;
  return problem_.space.bytes(shape);
}

std::int64_t KernelCosts::host_bytes(ShardShape shape, const TableKernel& kernel) const {
  shape.kernel = kernel;
  return bytes_on_host(table_of(shape), shape);
}

search::SearchSpace KernelCosts::with_kernels(const OffloadChoice& choice) const {
  search::SearchSpace space = problem_.space;
  for (std::size_t index = 0; index < space.tables.size(); ++index) {
    search::TableSpace& own = space.tables[index];
    own.kernel = kernel_of(index, choice.kernels[index]);
    const bool elsewhere = own.kernel.offloaded() || !own.table->kernels.fused;
    if (!elsewhere || is_replica(own)) continue;
    AllowedSharding& allowed = own.sharding;
    allowed.data_parallel = false;
    // What can be divided in no other way keeps its row shards, whatever was chosen.
    allowed.rows &= choice.by_rows || !(allowed.whole || allowed.columns);
  }
  return space;
}

}  // namespace neuroshard
