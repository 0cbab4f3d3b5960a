#include "search/refine/fast_row_plan.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "search/refine/cheapest_divisions.h"
#include "search/refine/price_list.h"
#include "search/refine/worth_replicating.h"

namespace neuroshard::search {
namespace {

// golden_costs_bench: 2 or 8 plans are within 0.1 % on nine of ten settings, 8 are 0.3 % costlier
// on dcnv2_networks_8; without rules formula_64 is 1.21 % costlier, with four of them 0.72, with
// eight 0.03 (formula_16 0.11, 0.06, 0.06).
constexpr int kRowPatience = 4;     // plans in a row that are no cheaper
constexpr double kRounding = 1e-5;  // share above the balanced load that no other plan may gain
/// Where costs add up: the heaviest piece, of the balanced load, what load on all devices counts,
/// and above how much of that columns are too heavy. first_plan() has that load itself and 1.
constexpr std::array<DivisionRule, 14> kRules{{{1.0, 1e9, 1},
                                               {0.5, 1, 1},
                                               {0.5, 1, 0.5},
                                               {1.0, 2, 1},
                                               {0.35, 1, 1},
                                               {1.0, 4, 1},
                                               {0.5, 2, 1},
                                               {0.7, 1, 1},
                                               {0.5, 2, 0.5},
                                               {1.4, 1, 1},
                                               {0.5, 4, 1},
                                               {2.0, 1, 1},
                                               {2.0, 2, 1},
                                               {4.0, 1, 1}}};

class FastRowPlans {
 public:
  FastRowPlans(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
               const StopCheck& stop, std::int64_t budget, const std::optional<DividedPlan>& first)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(catalog),
        stop_(stop),
        budget_(budget),
        first_(first),
        costliest_(costliest_tables(evaluator, catalog)),
        balanced_load_(evaluator.additive()
                           ? least_balanced_load(problem.cluster.devices, evaluator, catalog)
                           : 0) {}

  std::optional<FastPlan> run() {
    all_and_then_more(Division::kRows);
    if (evaluator_.additive()) in_cheapest_divisions();
    more_and_more(those_for(Division::kBlocks), Division::kBlocks);
    if (!evaluator_.additive()) in_replicas();
    if (!best_) return std::nullopt;
    if (changes_may_pay()) change_divisions();
    return taken();
  }

  std::optional<FastPlan> run_on_hosts() {
    all_and_then_more(Division::kHosts);
    in_replicas(divisions_of(catalog_, those_for(Division::kHosts), Division::kHosts));
    return taken();
  }

 private:
  std::optional<FastPlan> taken() {
    if (!best_) return std::nullopt;
    best_->plan.evaluations = evaluations_;
    return std::move(best_->plan);
  }

  [[nodiscard]] bool over() const { return stop_.stop() || evaluations_ >= budget_; }

  /// The tables that can be divided that way, costliest first.
  [[nodiscard]] std::vector<std::int32_t> those_for(Division division) const {
    std::vector<std::int32_t> tables = costliest_;
    std::erase_if(tables, [&](std::int32_t table) {
      if (division != Division::kRows) return undivided(catalog_, table, division) == kNoEntry;
      return catalog_.entry(catalog_.whole(table)).upper == kNoEntry;
    });
    return tables;
  }

  /// All tables at once, each in the way that costs the devices least.
  void in_cheapest_divisions() {
    // These are first_plan()'s.
    tried_.insert(first_ ? first_->divisions
                         : cheapest_divisions({balanced_load_}, evaluator_, catalog_));
    if (!over()) attempt_new(usual_divisions(catalog_));
    for (DivisionRule rule : kRules) {
      if (over()) break;
      rule.most *= balanced_load_;
      rule.heavy *= balanced_load_;
      attempt_new(cheapest_divisions(rule, evaluator_, catalog_));
    }
    if (first_ && (!best_ || first_->plan.cost < best_->plan.cost)) best_ = first_;
  }

  /// Where costs add up, unless the balanced load is reached. In little memory pieces are finer
  /// than load asks for, and packing has plans that lead further.
  [[nodiscard]] bool changes_may_pay() const {
    const bool roomy = first_ && !first_->plan.finer;
    return evaluator_.additive() && roomy && best_->plan.cost > balanced_load_ * (1 + kRounding);
  }

  /// One table in another division, as long as that gains: rules go by what devices take together,
  /// and do not see which pieces fill the last gaps. Of equal tables in equal divisions one does.
  void change_divisions() {
    using Change = std::tuple<double, std::int64_t, Division, Division>;  // cost, bytes, from, to
    std::set<Change> in_vain;
    std::size_t since_gain = 0;
    for (std::size_t next = 0; since_gain++ < costliest_.size(); ++next) {
      const std::int32_t table = costliest_[next % costliest_.size()];
      const CatalogEntry& whole = catalog_.entry(catalog_.whole(table));
      const double cost = evaluator_.shape_cost(whole.shape);
      for (const Division division : adding_divisions()) {
        std::vector<Division> changed = best_->divisions;
        Division& own = changed[static_cast<std::size_t>(table)];
        if (undivided(catalog_, table, division) == kNoEntry || own == division) continue;
        if (!in_vain.insert({cost, whole.bytes, own, division}).second) continue;
        if (over()) return;
        own = division;
        if (!attempt_new(changed)) continue;
        in_vain.clear();
        since_gain = 0;
      }
    }
  }

  /// With all tables that can be divided that way, and with more and more of them.
  void all_and_then_more(Division division) {
    const std::vector<std::int32_t> tables = those_for(division);
    if (!tables.empty() && !over()) attempt(divisions_of(catalog_, tables, division));
    more_and_more(tables, division);
  }

  /// With the first of the tables, the first two, ..
  void more_and_more(std::span<const std::int32_t> tables, Division division) {
    int failures = 0;
    for (std::size_t count = 1; count <= tables.size() && failures < kRowPatience && !over();
         count += best_ ? 1 : 1 + count / 2) {
      const bool gained = attempt(divisions_of(catalog_, tables.first(count), division));
      failures = gained || !best_ ? 0 : failures + 1;
    }
  }

  /// Beside the best plan's divisions of the others, and beside `also`, if any, with all tables
  /// whole on every device that are worth it by that plan's prices, and with the best of them; then
  /// once more by the prices that are left.
  void in_replicas(const std::vector<Division>& also = {}) {
    for (int round = 0; round < kPriceRounds; ++round) {
      const std::optional<DividedPlan> base = best_ ? best_ : first_;
      if (!base) return;
      const std::vector<std::int32_t> tables =
          worth_replicating(base->plan.pieces, problem_, evaluator_, catalog_);
      bool gained = false;
      for (const std::size_t count : counts_to_try(tables.size())) {
        if (tables.empty() || over()) return;
        const std::span<const std::int32_t> best = std::span(tables).first(count);
        gained = attempt_new(replicated(base->divisions, best)) || gained;
        if (!also.empty() && !over()) gained = attempt_new(replicated(also, best)) || gained;
      }
      if (!gained) return;
    }
  }

  /// Those tables on every device, and no others.
  [[nodiscard]] std::vector<Division> replicated(std::vector<Division> divisions,
                                                 std::span<const std::int32_t> tables) const {
    for (std::size_t table = 0; table < divisions.size(); ++table) {
      if (divisions[table] != Division::kReplicas) continue;
      divisions[table] = usual_division(catalog_, static_cast<std::int32_t>(table));
    }
    for (const std::int32_t table : tables) {
      divisions[static_cast<std::size_t>(table)] = Division::kReplicas;
    }
    return divisions;
  }

  /// Whether that is the cheapest plan so far.
  bool attempt(const std::vector<Division>& divisions) {
    std::optional<FastPlan> found =
        fast_plan(problem_, evaluator_, catalog_, stop_, divisions, budget_ - evaluations_);
    if (!found) return false;
    evaluations_ += found->evaluations;
    // Of equals the one of fewer pieces: a table is not spread without a gain.
    const auto rank = [](const FastPlan& plan) { return std::pair(plan.cost, plan.pieces.size()); };
    if (best_ && rank(*found) >= rank(best_->plan)) return false;
    best_ = {*std::move(found), divisions};
    return true;
  }

  /// The same, but for divisions that were tried before.
  bool attempt_new(const std::vector<Division>& divisions) {
    return tried_.insert(divisions).second && attempt(divisions);
  }

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const StopCheck& stop_;
  const std::int64_t budget_;
  const std::optional<DividedPlan>& first_;
  const std::vector<std::int32_t> costliest_;
  const double balanced_load_;  // where costs add up
  std::int64_t evaluations_ = 0;
  std::optional<DividedPlan> best_;
  std::set<std::vector<Division>> tried_;
};

}  // namespace

std::vector<Division> divisions_of(const ShapeCatalog& catalog,
                                   std::span<const std::int32_t> tables, Division division) {
  std::vector<Division> divisions = usual_divisions(catalog);
  for (const std::int32_t table : tables) divisions[static_cast<std::size_t>(table)] = division;
  return divisions;
}

std::optional<DividedPlan> plan_by_load(const Problem& problem, const PlanEvaluator& evaluator,
                                        const ShapeCatalog& catalog, const StopCheck& stop,
                                        std::int64_t budget) {
  std::vector<Division> divisions = usual_divisions(catalog);
  const auto made_of = [&](std::vector<Division> tables) -> std::optional<DividedPlan> {
    std::optional<FastPlan> plan = fast_plan(problem, evaluator, catalog, stop, tables, budget);
    if (!plan) return std::nullopt;
    return DividedPlan{*std::move(plan), std::move(tables)};
  };
  if (evaluator.additive()) {
    const double balanced = least_balanced_load(problem.cluster.devices, evaluator, catalog);
    std::vector<Division> cheapest = cheapest_divisions({balanced}, evaluator, catalog);
    if (cheapest != divisions) {
      if (auto found = made_of(std::move(cheapest))) return found;
    }
  }
  return made_of(std::move(divisions));
}

std::optional<FastPlan> fast_host_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                       const ShapeCatalog& catalog, const StopCheck& stop,
                                       std::int64_t budget) {
  return FastRowPlans(problem, evaluator, catalog, stop, budget, {}).run_on_hosts();
}

std::optional<FastPlan> fast_row_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                      const ShapeCatalog& catalog, const StopCheck& stop,
                                      std::int64_t budget,
                                      const std::optional<DividedPlan>& first) {
  return FastRowPlans(problem, evaluator, catalog, stop, budget, first).run();
}

}  // namespace neuroshard::search
