#include "engine/offload/kernel_costs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "search/lower_bound.h"

namespace neuroshard {
namespace {

/// Shares of rows that a cache may hold. What a table costs falls with them as 1 / bandwidth:
/// steeply first.
constexpr std::array kLoadFactors{0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15,
                                  0.2,  0.25, 0.3,  0.4,  0.5,  0.6, 0.8};
constexpr double kMostShapes = 5e5;  // to intern for a bound

/// The kernels of variants: fused, from host memory, then with each of the caches.
std::vector<TableKernel> variant_kernels() {
  std::vector<TableKernel> kernels{{}, {ComputeKernel::kFusedUvm, 0}};
  for (const double factor : kLoadFactors) {
    kernels.push_back({ComputeKernel::kFusedUvmCaching, factor});
  }
  return kernels;
}

/// The variant's kernel for a table; caches are as the table says, where it does.
TableKernel own_kernel(const Table& table, TableKernel kernel) {
  const bool cached = kernel.kernel == ComputeKernel::kFusedUvmCaching;
  if (cached && table.kernels.load_factor > 0) kernel.load_factor = table.kernels.load_factor;
  return kernel;
}

/// Whether all of the table is on every device, or none: host memory is no place for it.
bool is_replica(const Table& table) {
  const AllowedSharding& allowed = table.sharding;
  return !allowed.whole && !allowed.columns && !allowed.rows;
}

}  // namespace

Result<KernelCosts> KernelCosts::create(const Workload& workload, const Cluster& cluster,
                                        const CostModels& models, const DivisionRules& rules) {
  KernelCosts costs(workload, cluster, rules);
  for (const TableKernel& kernel : variant_kernels()) {
    Variant variant{std::make_unique<Workload>(workload), nullptr};
    for (Table& table : variant.workload->tables) table.kernel = own_kernel(table, kernel);
    NEUROSHARD_ASSIGN_OR_RETURN(variant.evaluator,
                                make_evaluator(models, *variant.workload, cluster.devices));
    costs.variants_.push_back(std::move(variant));
  }
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    costs.list_options(static_cast<std::int32_t>(table));
  }
  return costs;
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
  for (std::size_t v = 0; v < variants_.size(); ++v) {
    const TableKernel& kernel = kernel_of(place, v);
    const bool again = std::any_of(kernels.begin(), kernels.end(), [&](std::size_t other) {
      return kernel_of(place, other) == kernel;
    });
    if (again || !(is_replica(given) ? v == 0 : given.kernels.allows(kernel.kernel))) continue;
    kernels.push_back(v);
    for (const TableDivision& division : divisions) options.push_back(option_of(division, v));
  }
}

KernelCosts::Option KernelCosts::option_of(const TableDivision& division, std::size_t kernel) {
  const auto index = static_cast<std::size_t>(division.front().shape.table);
  Option option{kernel, {}, 0, 0, divided_in(division, workload_.tables[index].rows)};
  for (const Pieces& pieces : division) {
    const auto& [shape, count] = pieces;
    const Table& table = variants_[kernel].workload->tables[static_cast<std::size_t>(shape.table)];
    const double ms = shard_ms(shape, kernel);
    const std::int64_t bytes = shard_bytes(shape, kernel);
    const std::int64_t on_host = bytes_on_host(table, shape.rows, shape.dim);
    option.sums.cost += count * ms;
    option.sums.device_bytes += count * static_cast<double>(bytes);
    option.sums.host_bytes += count * static_cast<double>(on_host);
    option.dearest_ms = std::max(option.dearest_ms, ms);
    option.largest_bytes = std::max(option.largest_bytes, bytes);
  }
  return option;
}

double KernelCosts::shard_ms(const ShardShape& shape, std::size_t kernel) {
  CostEvaluator& evaluator = *variants_[kernel].evaluator;
  return evaluator.shape_cost(evaluator.intern(shape));
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

std::optional<double> KernelCosts::lower_bound(const search::MemoryLimits& limits,
                                               const search::RowShapes& rows) {
  double shapes = 0;
  for (const Table& table : workload_.tables) shapes += 1 + table.dim / 4.0;
  if (shapes * static_cast<double>(variants_.size()) > kMostShapes) return std::nullopt;
  std::vector<std::vector<search::KernelOption>> least(tables());
  for (std::size_t v = 0; v < variants_.size(); ++v) {
    const Workload& workload = *variants_[v].workload;
    search::RowShapes own = rows;
    if (v > 0) own.replicas = 0;  // those are fused
    const auto costs =
        search::least_table_costs({workload, cluster_}, *variants_[v].evaluator, own);
    if (!costs) return std::nullopt;
    for (std::size_t index = 0; index < tables(); ++index) {
      const std::vector<std::size_t>& kernels = kernels_[index];
      const Table& table = workload.tables[index];
      if (std::find(kernels.begin(), kernels.end(), v) == kernels.end()) continue;
      const std::int64_t on_host = bytes_on_host(table, table.rows, table.dim);
      least[index].push_back(
          {(*costs)[index], static_cast<double>(table_bytes(table)), static_cast<double>(on_host)});
    }
  }
  return search::least_choice_cost(least, limits) / cluster_.devices;
}

}  // namespace neuroshard
