#include "engine/planner/offload/offload_bound.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "engine/cost_model/make_evaluator.h"
#include "engine/planner/offload/kernel_costs.h"
#include "search/lower_bound.h"

namespace neuroshard {
namespace {

using search::KernelOption;

constexpr double kMostShapes = 1e6;  // to intern
constexpr double kMostWork = 1e8;    // to divide tables: a tenth of a second

/// A table with a cache of some size, divided as costs least.
struct Cached {
  double bandwidth = 0;
  KernelOption option;
};

/// What caches of sizes between two cost and need, at any prices of memory, no less than the best
/// of those two and this. However a table is divided, its cost is linear in 1 / bandwidth; the
/// least of all divisions is so concave in it, and at least its chord. Bandwidth and bytes are
/// linear in the size; 1 / bandwidth is so convex in it, and at least its tangents in both ends,
/// which meet at the harmonic mean of the bandwidths.
KernelOption between(const Cached& a, const Cached& b) {
  const double sum = a.bandwidth + b.bandwidth;
  const auto from_a = [](double of_a, double of_b, double way) {
    return of_a + way * (of_b - of_a);
  };
  KernelOption option = a.option;
  option.cost = from_a(a.option.cost, b.option.cost, b.bandwidth / sum);
  option.device_bytes = from_a(a.option.device_bytes, b.option.device_bytes, a.bandwidth / sum);
  return option;
}

/// Without what rounding up to whole rows adds.
double cache_bytes(Table table, double load_factor) {
  table.kernel.load_factor = 1;
  const double row = static_cast<double>(cached_row_bytes(table, table.dim));
  return static_cast<double>(table_bytes(table)) -
         (1 - load_factor) * static_cast<double>(table.rows) * row;
}

KernelOption option_of(const Table& table, double cost) {
  const bool free = table.kernel.load_factor > 0 && caches_freely(table);
  const double bytes =
      free ? cache_bytes(table, table.kernel.load_factor) : static_cast<double>(table_bytes(table));
  return {cost, bytes, static_cast<double>(bytes_on_host(table, table.rows, table.dim))};
}

/// Those to choose from, and caches of sizes between them: the nearer they are, the nearer is what
/// stands for those between.
std::vector<TableKernel> kernels_of_bound() {
  std::vector<TableKernel> kernels;
  for (const TableKernel& kernel : kernels_to_choose_from()) {
    const double last = kernels.empty() ? 0 : kernels.back().load_factor;
    if (last > 0) kernels.push_back({kernel.kernel, (last + kernel.load_factor) / 2});
    kernels.push_back(kernel);
  }
  return kernels;
}

/// What is known of a table.
struct Options {
  std::vector<KernelOption> all;
  std::optional<Cached> last;  ///< the largest cache so far

  void add(const Table& table, const KernelCosts& costs, double cost) {
    all.push_back(option_of(table, cost));
    if (table.kernel.kernel != ComputeKernel::kFusedUvmCaching) return;
    const Cached cached{costs.bandwidth_of(table.kernel), all.back()};
    if (last) all.push_back(between(*last, cached));
    last = cached;
  }
  /// A table that says how large its cache is has one.
  [[nodiscard]] bool take(const Table& table) const {
    return table.kernels.allows(table.kernel.kernel) && (!last || caches_freely(table));
  }
};

/// Adds what the tables cost and need with that kernel, those that may have it. False where it
/// would take long, or the cost models do not fit the tables.
bool add_options(const KernelCosts& costs, const TableKernel& kernel, const search::RowShapes& rows,
                 std::vector<Options>& options) {
  Workload workload = costs.workload();
  for (Table& table : workload.tables) table.kernel = own_kernel(table, kernel);
  const auto evaluator = make_evaluator(costs.models(), workload, costs.cluster().devices);
  if (!evaluator.ok()) return false;
  const auto least = search::least_table_costs({workload, costs.cluster()}, **evaluator, rows);
  if (!least) return false;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const Table& table = workload.tables[index];
    const bool taken = is_replica(table) ? !kernel.offloaded() : options[index].take(table);
    if (taken) options[index].add(table, costs, (*least)[index]);
  }
  return true;
}

}  // namespace

std::optional<double> offload_lower_bound(const KernelCosts& costs,
                                          const search::MemoryLimits& limits,
                                          const search::RowShapes& rows) {
  const std::vector<TableKernel> kernels = kernels_of_bound();
  double shapes = 0;
  double work = 0;
  for (const Table& table : costs.workload().tables) {
    const double grains = table.dim / 4.0;
    shapes += 1 + grains;
    work += grains * grains;
  }
  const auto times = static_cast<double>(kernels.size());
  if (shapes * times > kMostShapes || work * times > kMostWork) return std::nullopt;
  std::vector<Options> options(costs.tables());
  for (const TableKernel& kernel : kernels) {
    search::RowShapes own = rows;
    if (kernel.offloaded()) own.replicas = 0;
    if (!add_options(costs, kernel, own, options)) return std::nullopt;
  }
  std::vector<std::vector<KernelOption>> of_tables;
  for (Options& one : options) of_tables.push_back(std::move(one.all));
  return search::least_choice_cost(of_tables, limits) / costs.cluster().devices;
}

}  // namespace neuroshard
