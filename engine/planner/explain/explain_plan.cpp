#include "engine/planner/explain/explain_plan.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "engine/core/aligned_vector.h"
#include "engine/core/hot_rows.h"
#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/planner/memory_limits.h"
#include "engine/planner/planner.h"
#include "engine/planner/search_budget.h"
#include "engine/planner/search_run.h"

namespace neuroshard {
namespace {

/// A plan with costs that other layouts of its tables are held against.
class Explanation {
 public:
  Explanation(const Workload& workload, Plan plan, const PlanCost& cost, const CostModels& models,
              CostEvaluator& evaluator, const Cluster& cluster, const CancelToken* cancel)
      : workload_(workload),
        cluster_(cluster),
        space_(search::space_of(workload, cluster)),
        plan_(std::move(plan)),
        models_(models),
        evaluator_(evaluator),
        cancel_(cancel),
        layouts_(workload.tables.size()),
        alone_ms_(workload.tables.size()),
        targets_(idle_first(cost)) {
    search::give_kernels(plan_, space_);
    for (const HotRows& hot : hot_rows(plan_)) {
      space_.tables[static_cast<std::size_t>(hot.table)].kernel.hot_rows = hot.rows;
    }
    const std::vector<ShardShape> shapes = shapes_of(plan_);
    for (std::size_t k = 0; k < plan_.shards.size(); ++k) {
      const auto table = static_cast<std::size_t>(plan_.shards[k].table);
      layouts_[table].push_back(plan_.shards[k]);
      ids_.push_back(evaluator_.intern(shapes[k]));
      alone_ms_[table] = std::max(alone_ms_[table], evaluator_.shape_cost(ids_[k]));
    }
    targets_.resize(std::min(targets_.size(), kMostTargets));
  }

  [[nodiscard]] TableExplanation of(std::int32_t table) {
    TableExplanation own;
    own.table = table;
    own.shards = layouts_[static_cast<std::size_t>(table)];
    own.alone_ms = alone_ms_[static_cast<std::size_t>(table)];
    for (std::size_t k = 0; k < plan_.shards.size(); ++k) {
      const Shard& shard = plan_.shards[k];
      if (shard.table != table) continue;
      own.bytes += space_.bytes(shape_of(shard));
      own.adds_ms = std::max(own.adds_ms, adds(k));
    }
    try_others(own);
    return own;
  }

  /// Of the dearest shard of each table.
  [[nodiscard]] const std::vector<double>& alone_ms() const { return alone_ms_; }

 private:
  /// Milliseconds of computing on the shard's device with it less those without; on the first where
  /// every device holds it.
  [[nodiscard]] double adds(std::size_t index) const {
    const std::int32_t device = std::max(plan_.shards[index].device, 0);
    AlignedVector<float> with(evaluator_.state_size());
    AlignedVector<float> without(evaluator_.state_size());
    evaluator_.clear(with.data());
    evaluator_.clear(without.data());
    float with_ms = evaluator_.empty_cost();
    float without_ms = with_ms;
    for (std::size_t k = 0; k < plan_.shards.size(); ++k) {
      const std::int32_t own = plan_.shards[k].device;
      if (own != device && own != kEveryDevice) continue;
      with_ms = evaluator_.place(ids_[k], with.data());
      if (k != index) without_ms = evaluator_.place(ids_[k], without.data());
    }
    return double{with_ms} - double{without_ms};
  }

  void try_others(TableExplanation& own) {
    Plan rest{plan_.devices, {}};
    for (const Shard& shard : plan_.shards) {
      if (shard.table != own.table) rest.shards.push_back(shard);
    }
    for_each_other_layout(space_, own.shards, models_, cluster_, targets_,
                          [&](const TableLayout& layout) {
                            if (asked_to_stop(cancel_)) return false;
                            try_layout(rest, layout, own);
                            return true;
                          });
  }

  void try_layout(Plan other, const TableLayout& layout, TableExplanation& own) {
    other.shards.insert(other.shards.end(), layout.begin(), layout.end());
    canonicalize(other);
    const std::vector<std::int64_t> bytes = device_bytes(workload_, other, cluster_.buffers);
    if (*std::max_element(bytes.begin(), bytes.end()) > cluster_.memory_bytes) return;
    ++own.considered;
    const double cost = evaluator_.evaluate(other).cost_ms;
    if (!own.next_best || cost < own.next_best->cost_ms) own.next_best = {layout, cost};
  }

  const Workload& workload_;
  const Cluster cluster_;
  search::SearchSpace space_;
  const Plan plan_;
  const CostModels& models_;
  CostEvaluator& evaluator_;
  const CancelToken* const cancel_;
  std::vector<TableLayout> layouts_;  ///< by table
  std::vector<double> alone_ms_;      ///< by table
  std::vector<search::ShapeId> ids_;  ///< of the plan's shards
  std::vector<std::int32_t> targets_;
};

/// kInvalidInput for one that is not in the workload.
Status check_tables(const std::vector<std::int32_t>& tables, std::size_t count) {
  for (const std::int32_t table : tables) {
    if (table >= 0 && static_cast<std::size_t>(table) < count) continue;
    return invalid_input("table: found " + std::to_string(table) + ", expected 0 to " +
                         std::to_string(count - 1));
  }
  return {};
}

std::vector<std::int32_t> dearest(const std::vector<double>& alone_ms, std::size_t most) {
  std::vector<std::int32_t> tables(alone_ms.size());
  std::iota(tables.begin(), tables.end(), 0);
  std::stable_sort(tables.begin(), tables.end(), [&](std::int32_t a, std::int32_t b) {
    return alone_ms[static_cast<std::size_t>(a)] > alone_ms[static_cast<std::size_t>(b)];
  });
  tables.resize(std::min(tables.size(), most));
  return tables;
}

}  // namespace

Result<std::vector<TableExplanation>> explain_plan(const Workload& workload, const Plan& plan,
                                                   const CostModels& models,
                                                   std::int64_t memory_bytes,
                                                   const ExplainOptions& options) {
  const Cluster cluster{.devices = plan.devices,
                        .memory_bytes = memory_bytes,
                        .buffers = options.buffers,
                        .devices_per_host = options.devices_per_host,
                        .exchange = options.exchange};
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanCost cost, simulate(workload, plan, models, cluster));
  NEUROSHARD_RETURN_IF_ERROR(check_memory(workload, plan, memory_bytes, options.buffers));
  NEUROSHARD_RETURN_IF_ERROR(check_tables(options.tables, workload.tables.size()));
  NEUROSHARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<CostEvaluator> evaluator,
      make_evaluator(models, workload, plan.devices, options.devices_per_host, options.exchange));
  Plan canonical = plan;
  canonicalize(canonical);
  Explanation explanation(workload, std::move(canonical), cost, models, *evaluator, cluster,
                          options.cancel);
  const std::vector<std::int32_t> tables =
      options.tables.empty() ? dearest(explanation.alone_ms(), options.most) : options.tables;
  std::vector<TableExplanation> all;
  for (const std::int32_t table : tables) {
    if (options.progress != nullptr) {
      options.progress->update("explaining", std::ssize(all), std::ssize(tables), "tables");
    }
    TableExplanation told = explanation.of(table);
    NEUROSHARD_ASSIGN_OR_RETURN(told.hot_rows, hot_gain(workload, plan, models, cluster, table));
    if (asked_to_stop(options.cancel)) {
      return cancelled("interrupted after " + std::to_string(all.size()) + " of " +
                       std::to_string(tables.size()) + " tables");
    }
    all.push_back(std::move(told));
  }
  return all;
}

Result<std::vector<double>> shard_costs(const Workload& workload, const Plan& plan,
                                        const CostModels& models, const Cluster& cluster) {
  NEUROSHARD_RETURN_IF_ERROR(simulate(workload, plan, models, cluster).status());
  NEUROSHARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<CostEvaluator> evaluator,
      make_evaluator(models, workload, plan.devices, cluster.devices_per_host, cluster.exchange));
  Plan canonical = plan;
  canonicalize(canonical);
  std::vector<double> costs;
  for (const ShardShape& shape : shapes_of(canonical)) {
    costs.push_back(evaluator->shape_cost(evaluator->intern(shape)));
  }
  return costs;
}

}  // namespace neuroshard
