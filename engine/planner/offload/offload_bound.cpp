#include "engine/planner/offload/offload_bound.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "engine/planner/offload/kernel_costs.h"
#include "search/bounds/lower_bound.h"

namespace neuroshard {
namespace {

using search::KernelOption;

constexpr double kMostShapes = 1e6;  // to ask the cost of
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
double cache_bytes(const Table& table, const StepMemory& step, TableKernel kernel) {
  const double load_factor = std::exchange(kernel.load_factor, 1);
  const double row = static_cast<double>(cached_row_bytes(table, table.dim));
  return static_cast<double>(table_bytes(table, step, kernel)) -
         (1 - load_factor) * static_cast<double>(table.rows) * row;
}

KernelOption option_of(const search::SearchSpace& space, std::int32_t index, double cost) {
  const Table& table = *space.of(index).table;
  const TableKernel& kernel = space.of(index).kernel;
  const bool free = kernel.load_factor > 0 && caches_freely(table);
  const double bytes =
      free ? cache_bytes(table, space.step, kernel) : static_cast<double>(space.whole_bytes(index));
  return {cost, bytes, static_cast<double>(bytes_on_host(table, space.whole(index)))};
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
struct BoundOptions {
  std::vector<KernelOption> all;
  std::optional<Cached> last;  ///< the largest cache so far

  void add(const search::SearchSpace& space, std::int32_t table, const KernelCosts& costs,
           double cost) {
    all.push_back(option_of(space, table, cost));
    const TableKernel& kernel = space.of(table).kernel;
    if (kernel.kernel != ComputeKernel::kFusedUvmCaching) return;
    const Cached cached{costs.bandwidth_of(table, kernel), all.back()};
    if (last) all.push_back(between(*last, cached));
    last = cached;
  }
  /// A table that says how large its cache is has one.
  [[nodiscard]] bool take(const search::TableSpace& own) const {
    return own.table->kernels.allows(own.kernel.kernel) && (!last || caches_freely(*own.table));
  }
};

/// Adds what the tables cost and need with that kernel, those that may have it. False where it
/// would take long.
bool add_options(const KernelCosts& costs, search::PlanEvaluator& evaluator,
                 const TableKernel& kernel, const search::RowShapes& rows,
                 std::vector<BoundOptions>& options) {
  search::Problem problem = costs.problem();
  for (search::TableSpace& own : problem.space.tables) own.kernel = own_kernel(*own.table, kernel);
  const auto least = search::least_table_costs(problem, evaluator, rows);
  if (!least) return false;
  for (std::size_t index = 0; index < options.size(); ++index) {
    const search::TableSpace& own = problem.space.tables[index];
    const bool taken = is_replica(own) ? !kernel.offloaded() : options[index].take(own);
    if (!taken) continue;
    options[index].add(problem.space, static_cast<std::int32_t>(index), costs, (*least)[index]);
  }
  return true;
}

}  // namespace

std::optional<double> offload_lower_bound(const KernelCosts& costs,
                                          search::PlanEvaluator& evaluator,
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
  std::vector<BoundOptions> options(costs.tables());
  for (const TableKernel& kernel : kernels) {
    search::RowShapes own = rows;
    if (kernel.offloaded()) own.replicas = 0;
    if (!add_options(costs, evaluator, kernel, own, options)) return std::nullopt;
  }
  std::vector<std::vector<KernelOption>> of_tables;
  for (BoundOptions& one : options) of_tables.push_back(std::move(one.all));
  return search::least_choice_cost(of_tables, limits) / costs.cluster().devices;
}

}  // namespace neuroshard
