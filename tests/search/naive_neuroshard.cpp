#include "tests/search/naive_neuroshard.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/shard_bytes.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::test {
namespace {

class NaiveNeuroshard {
 public:
  NaiveNeuroshard(const Workload& workload, const Cluster& cluster,
                  search::PlanEvaluator& evaluator)
      : workload_(workload), cluster_(cluster), evaluator_(evaluator) {}

  std::optional<Plan> run() {
    std::vector<Shard> whole;
    for (std::size_t table = 0; table < workload_.tables.size(); ++table) {
      whole.push_back(whole_table(workload_, static_cast<std::int32_t>(table), 0));
    }
    grid(whole);
    std::vector<std::vector<Shard>> beam{whole};
    for (int level = 0; level < 10; ++level) {
      std::vector<std::pair<double, std::vector<Shard>>> children;
      for (const std::vector<Shard>& parent : beam) {
        for (const std::size_t index : candidates(parent)) {
          if (parent[index].dim() % 8 != 0) continue;
          std::vector<Shard> child = parent;
          child.push_back(child[index]);
          child[index].column_end -= parent[index].dim() / 2;
          child.back().column_begin = child[index].column_end;
          children.emplace_back(grid(child), child);
        }
      }
      std::stable_sort(children.begin(), children.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      beam.clear();
      for (std::size_t k = 0; k < std::min<std::size_t>(3, children.size()); ++k) {
        beam.push_back(children[k].second);
      }
    }
    return best_;
  }

 private:
  double single_cost(const Shard& shard) {
    return evaluator_.shape_cost(evaluator_.intern(shape_of(shard)));
  }

  std::set<std::size_t> candidates(const std::vector<Shard>& shards) {
    std::vector<std::pair<double, std::size_t>> sizes, costs;
    for (std::size_t k = 0; k < shards.size(); ++k) {
      sizes.emplace_back(static_cast<double>(shard_bytes(workload_, shape_of(shards[k]))), k);
      costs.emplace_back(single_cost(shards[k]), k);
    }
    std::sort(sizes.rbegin(), sizes.rend());
    std::sort(costs.rbegin(), costs.rend());
    std::set<std::size_t> result;
    for (std::size_t k = 0; k < std::min<std::size_t>(10, shards.size()); ++k) {
      result.insert(sizes[k].second);
      result.insert(costs[k].second);
    }
    return result;
  }

  double grid(const std::vector<Shard>& shards) {
    double lowest = std::numeric_limits<double>::infinity();
    double dims = 0;
    for (const Shard& shard : shards) dims += shard.dim();
    for (int step = 0; step < 11; ++step) {
      const std::optional<Plan> plan =
          greedy(shards, (1.0 + 0.05 * step) * dims / cluster_.devices);
      if (!plan) continue;
      const double cost = cost_of(*plan, evaluator_);
      lowest = std::min(lowest, cost);
      if (best_ && cost >= best_cost_) continue;
      best_ = plan;
      best_cost_ = cost;
    }
    return lowest;
  }

  std::optional<Plan> greedy(const std::vector<Shard>& shards, double cap) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t k = 0; k < shards.size(); ++k) order.emplace_back(single_cost(shards[k]), k);
    std::sort(order.rbegin(), order.rend());
    Plan plan{cluster_.devices, {}};
    for (const auto& [cost, index] : order) {
      Shard shard = shards[index];
      shard.device = -1;
      double least = 0;
      std::int64_t least_bytes = 0;
      for (std::int32_t device = 0; device < cluster_.devices; ++device) {
        std::int64_t bytes = 0;
        std::int64_t dims = 0;
        double load = 0;
        AlignedVector<float> state(evaluator_.state_size());
        evaluator_.clear(state.data());
        for (const Shard& placed : plan.shards) {
          if (placed.device != device) continue;
          load = evaluator_.place(evaluator_.intern(shape_of(placed)), state.data());
          bytes += shard_bytes(workload_, shape_of(placed));
          dims += placed.dim();
        }
        if (bytes + shard_bytes(workload_, shape_of(shard)) > cluster_.memory_bytes) continue;
        if (static_cast<double>(dims + shard.dim()) > cap) continue;
        if (shard.device < 0 || load < least || (load == least && bytes < least_bytes)) {
          shard.device = device;
          least = load;
          least_bytes = bytes;
        }
      }
      if (shard.device < 0) return std::nullopt;
      plan.shards.push_back(shard);
    }
    return plan;
  }

  const Workload& workload_;
  const Cluster& cluster_;
  search::PlanEvaluator& evaluator_;
  std::optional<Plan> best_;
  double best_cost_ = 0;
};

}  // namespace

std::optional<Plan> naive_neuroshard(const Workload& workload, const Cluster& cluster,
                                     search::PlanEvaluator& evaluator) {
  return NaiveNeuroshard(workload, cluster, evaluator).run();
}

}  // namespace neuroshard::test
