#include "engine/planner/robust/regret_descent.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "engine/core/plan_bytes.h"
#include "engine/core/rng.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/check_plan.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/planner/explain/other_layouts.h"
#include "search/search_space.h"

namespace neuroshard {
namespace {

/// Smaller gains are noise of sums in another order.
constexpr double kLeastGain = 1e-6;
constexpr std::size_t kTried = 2;  // devices that a random step tries to move to
// How much more regret the walk takes, at its beginning and end: of few pieces, each of which
// weighs much, more at first. (60 tasks of 7 tables on 2 devices, as robust_plan_test has them: of
// 0.01, 0.04 and 0.08 at first, 4, 3 and none miss the least regret. 8 tasks of 26 to 150 tables on
// 4 to 16 devices, 100,000 evaluations: regrets of 9.9, 10.2 and 10.7 % in the mean.)
constexpr double kHottest = 0.01;
constexpr double kHottestOfFew = 0.1;
constexpr double kHeatOfPiece = 0.6;  // shared by the pieces
constexpr double kColdest = 0.0003;

TableLayout layout_in(const Plan& plan, std::int32_t table) {
  TableLayout layout;
  for (const Shard& shard : plan.shards) {
    if (shard.table == table) layout.push_back(shard);
  }
  return layout;
}

/// Those whose costs of row shards reach least far.
const CostModels& narrowest_of(std::span<const CostModels* const> models) {
  return **std::min_element(models.begin(), models.end(), [](const auto* a, const auto* b) {
    return std::pair(capabilities(*a).row_splits, capabilities(*a).row_parts) <
           std::pair(capabilities(*b).row_splits, capabilities(*b).row_parts);
  });
}

class Descent {
 public:
  Descent(CostPanel& panel, const Plan& start, std::span<const Plan> others,
          std::span<const double> best_ms, const DescentRules& rules)
      : panel_(panel),
        others_(others),
        best_ms_(best_ms),
        rules_(rules),
        rng_(rules.seed),
        space_(search::space_of(panel.workload(), panel.cluster())),
        narrowest_(narrowest_of(panel.models())) {
    search::give_kernels(start, space_);
    now_.plan = start;
    canonicalize(now_.plan);
    now_.costs = panel.costs_of(now_.plan).value();
    regret_ = largest_regret(now_.costs, best_ms_);
  }

  Descended run() {
    walk();
    while (!over() && step()) {
    }
    return std::move(now_);
  }

 private:
  /// Random steps under a falling temperature, from the best of which the descent begins: a plan
  /// that is good by several models is often several steps away from each that is good by one.
  void walk() {
    if (rules_.walk_steps < 1) return;
    Descended best = now_;
    double best_regret = regret_;
    const auto pieces = static_cast<double>(now_.plan.shards.size());
    const double hottest = std::clamp(kHeatOfPiece / pieces, kHottest, kHottestOfFew);
    for (std::int64_t k = 0; k < rules_.walk_steps && !over(); ++k) {
      const double progress = static_cast<double>(k) / static_cast<double>(rules_.walk_steps);
      const double temperature = hottest * std::pow(kColdest / hottest, progress);
      const std::int64_t spent = now_.evaluations;
      take_if_below(random_neighbour(), regret_ - temperature * std::log(1 - rng_.uniform()));
      if (now_.evaluations == spent) ++now_.evaluations;  // so that tries alone end a walk
      if (regret_ >= best_regret) continue;
      best = now_;
      best_regret = regret_;
    }
    best.evaluations = now_.evaluations;
    now_ = std::move(best);
    regret_ = best_regret;
  }

  /// The plan with a table of a bottleneck device otherwise; without shards where none came of it.
  Plan random_neighbour() {
    const PlanCost& by = now_.costs[rng_.below(now_.costs.size())];
    const std::int32_t bottleneck = bottleneck_of(by);
    std::vector<std::size_t> own;
    std::vector<std::size_t> elsewhere;
    for (std::size_t k = 0; k < now_.plan.shards.size(); ++k) {
      const Shard& shard = now_.plan.shards[k];
      if (shard.kernel.offloaded() || shard.device == kEveryDevice) continue;
      if (shard.device == bottleneck) own.push_back(k);
      if (shard.device != bottleneck && moves(shard)) elsewhere.push_back(k);
    }
    if (own.empty()) return {};
    const std::size_t a = own[rng_.below(own.size())];
    const Shard shard = now_.plan.shards[a];
    const std::uint64_t kind = rng_.below(3);
    if (kind == 0) {
      if (elsewhere.empty() || !moves(shard)) return {};
      return swapped(a, elsewhere[rng_.below(elsewhere.size())]);
    }
    if (kind == 1) {
      return with_layout(shard.table, layout_in(others_[rng_.below(others_.size())], shard.table));
    }
    targets_.clear();
    for (std::size_t k = 0; k < kTried; ++k) {
      targets_.push_back(
          static_cast<std::int32_t>(rng_.below(static_cast<std::uint64_t>(now_.plan.devices))));
    }
    std::vector<TableLayout> layouts;
    for_each_other_layout(space_, layout_in(now_.plan, shard.table), narrowest_, panel_.cluster(),
                          targets_, [&](const TableLayout& layout) {
                            if (keeps_rules(shard.table, layout)) layouts.push_back(layout);
                            return true;
                          });
    if (layouts.empty()) return {};
    return with_layout(shard.table, layouts[rng_.below(layouts.size())]);
  }

  /// Takes the first step found that makes the largest regret smaller. False: there is none.
  bool step() {
    const PlanCost& worst = now_.costs[worst_model()];
    const std::int32_t bottleneck = bottleneck_of(worst);
    targets_ = idle_first(worst);
    targets_.resize(std::min(targets_.size(), kMostTargets));
    std::set<std::int32_t> tables;
    for (const Shard& shard : now_.plan.shards) {
      if (shard.device == bottleneck && !shard.kernel.offloaded()) tables.insert(shard.table);
    }
    for (const std::int32_t table : tables) {
      if (over() || relayout(table)) return !over();
    }
    return swap_from(bottleneck);
  }

  [[nodiscard]] std::size_t worst_model() const {
    std::size_t worst = 0;
    for (std::size_t k = 1; k < best_ms_.size(); ++k) {
      const auto dearer = [&](std::size_t m) { return now_.costs[m].cost_ms / best_ms_[m]; };
      if (dearer(k) > dearer(worst)) worst = k;
    }
    return worst;
  }

  bool relayout(std::int32_t table) {
    const TableLayout own = layout_in(now_.plan, table);
    for (const Plan& other : others_) {
      const TableLayout layout = layout_in(other, table);
      if (layout != own && try_layout(table, layout)) return true;
    }
    bool taken = false;
    for_each_other_layout(space_, own, narrowest_, panel_.cluster(), targets_,
                          [&](const TableLayout& layout) {
                            if (keeps_rules(table, layout)) taken = try_layout(table, layout);
                            return !taken && !over();
                          });
    return taken;
  }

  [[nodiscard]] bool keeps_rules(std::int32_t table, const TableLayout& layout) const {
    if (rules_.whole_tables && layout.size() > 1) return false;
    return std::all_of(layout.begin(), layout.end(), [&](const Shard& shard) {
      if (shard.device == kEveryDevice) return false;
      return rules_.row_shards || shard.rows() == space_.of(table).table->rows;
    });
  }

  [[nodiscard]] Plan with_layout(std::int32_t table, const TableLayout& layout) const {
    Plan plan{now_.plan.devices, {}};
    for (const Shard& shard : now_.plan.shards) {
      if (shard.table != table) plan.shards.push_back(shard);
    }
    plan.shards.insert(plan.shards.end(), layout.begin(), layout.end());
    return plan;
  }
  bool try_layout(std::int32_t table, const TableLayout& layout) {
    return take_if_below(with_layout(table, layout), regret_ - kLeastGain);
  }

  /// Without shards where these two may not change places.
  [[nodiscard]] Plan swapped(std::size_t a, std::size_t b) const {
    const Shard& one = now_.plan.shards[a];
    const Shard& other = now_.plan.shards[b];
    if (one.table == other.table || !may_go(one, other.device) || !may_go(other, one.device)) {
      return {};
    }
    Plan plan = now_.plan;
    std::swap(plan.shards[a].device, plan.shards[b].device);
    return plan;
  }

  /// A shard there changes places with one elsewhere.
  bool swap_from(std::int32_t bottleneck) {
    const std::size_t count = now_.plan.shards.size();
    for (std::size_t a = 0; a < count; ++a) {
      const Shard& own = now_.plan.shards[a];
      if (own.device != bottleneck || !moves(own)) continue;
      for (std::size_t b = 0; b < count; ++b) {
        if (over()) return false;
        const Shard& other = now_.plan.shards[b];
        if (other.device == bottleneck || !moves(other)) continue;
        if (take_if_below(swapped(a, b), regret_ - kLeastGain)) return true;
      }
    }
    return false;
  }

  /// Alone: row blocks belong together.
  [[nodiscard]] bool moves(const Shard& shard) const {
    return shard.device != kEveryDevice && !shard.kernel.offloaded() &&
           !has_part_of_rows(panel_.workload(), shard);
  }

  [[nodiscard]] bool may_go(const Shard& shard, std::int32_t device) const {
    if (!space_.of(shard.table).devices.has(device)) return false;
    return std::none_of(now_.plan.shards.begin(), now_.plan.shards.end(), [&](const Shard& other) {
      return other.table == shard.table && other.device == device;
    });
  }

  /// Has the plan take the place of the one that stands where its largest regret is below `limit`.
  bool take_if_below(Plan plan, double limit) {
    if (plan.shards.empty()) return false;
    canonicalize(plan);
    const std::vector<std::int64_t> bytes =
        device_bytes(panel_.workload(), plan, panel_.cluster().buffers);
    if (*std::max_element(bytes.begin(), bytes.end()) > panel_.cluster().memory_bytes) return false;
    ++now_.evaluations;
    Result<std::vector<PlanCost>> costs = panel_.costs_of(plan);
    if (!costs.ok()) return false;
    const double regret = largest_regret(*costs, best_ms_);
    if (!(regret < limit)) return false;
    now_.plan = std::move(plan);
    now_.costs = std::move(*costs);
    regret_ = regret;
    return true;
  }

  [[nodiscard]] bool over() const { return rules_.stop(now_.evaluations); }

  CostPanel& panel_;
  std::span<const Plan> others_;
  std::span<const double> best_ms_;
  const DescentRules& rules_;
  Rng rng_;
  search::SearchSpace space_;
  const CostModels& narrowest_;
  Descended now_;
  double regret_ = 0;
  std::vector<std::int32_t> targets_;
};

}  // namespace

Result<CostPanel> CostPanel::create(const Workload& workload, const Cluster& cluster,
                                    std::span<const CostModels* const> models) {
  CostPanel panel(workload, cluster);
  for (const CostModels* one : models) {
    NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<CostEvaluator> evaluator,
                                make_evaluator(*one, workload, cluster.devices,
                                               cluster.devices_per_host, cluster.exchange));
    panel.models_.push_back(one);
    panel.evaluators_.push_back(std::move(evaluator));
  }
  return panel;
}

Result<std::vector<PlanCost>> CostPanel::costs_of(const Plan& plan) {
  std::vector<PlanCost> costs;
  for (std::size_t k = 0; k < models_.size(); ++k) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_plan(*models_[k], *workload_, plan, cluster_.devices_per_host));
    costs.push_back(evaluators_[k]->evaluate(plan));
    set_bytes(*workload_, plan, cluster_.buffers, costs.back());
  }
  return costs;
}

double largest_regret(std::span<const PlanCost> costs, std::span<const double> best_ms) {
  double largest = 0;
  for (std::size_t k = 0; k < costs.size(); ++k) {
    if (best_ms[k] > 0) largest = std::max(largest, costs[k].cost_ms / best_ms[k] - 1);
  }
  return largest;
}

Descended regret_descent(CostPanel& panel, const Plan& start, std::span<const Plan> others,
                         std::span<const double> best_ms, const DescentRules& rules) {
  return Descent(panel, start, others, best_ms, rules).run();
}

}  // namespace neuroshard
