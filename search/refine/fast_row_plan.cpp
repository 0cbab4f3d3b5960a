#include "search/refine/fast_row_plan.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "search/feasibility.h"
#include "search/refine/cheapest_divisions.h"
#include "search/refine/division_changes.h"
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

// Memory is short where tables fill more of it. The same 39 tasks: with the largest tables in
// blocks plans are 1.1 % above what CP-SAT found in the mean, without 4.1 (one of them 92).
constexpr double kShort = 0.9;
// In little memory so few tables change their division. 40 tasks of 10 to 40 tables that fill 92 to
// 98 % of 6 to 16 devices, by TorchRec's formula: 0.3 and 0.7 % above the best known plans after
// 30,000 and 300,000 candidates; with 12 tables 0.5 and 0.9, with any number 1.2 and 1.2. The 39
// tasks above are the same.
constexpr std::size_t kFewChanged = 9;

class FastRowPlans final : public DivisionTrials {
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
    if (filled_memory(problem_) > kShort) with_largest();
    if (!evaluator_.additive()) in_replicas();
    if (!best_) return std::nullopt;
    if (changes_may_pay()) change_divisions(*this, evaluator_, catalog_);
    return taken();
  }

  std::optional<FastPlan> run_on_hosts() { return run_in(Division::kHosts); }

  std::optional<FastPlan> run_on_one_host_each() {
    rows_on_one_host_ = true;
    return run_in(Division::kRows);
  }

  [[nodiscard]] bool over() const override { return stop_.stop() || evaluations_ >= budget_; }
  [[nodiscard]] const std::vector<Division>& divisions() const override { return best_->divisions; }
  [[nodiscard]] std::span<const std::int32_t> tables() const override { return costliest_; }

  /// Not what was tried before.
  bool attempt_new(const std::vector<Division>& divisions) override {
    return tried_.insert(divisions).second && attempt(divisions);
  }

 private:
  std::optional<FastPlan> run_in(Division division) {
    all_and_then_more(division);
    in_replicas(divisions_of(catalog_, those_for(division), division));
    return taken();
  }

  std::optional<FastPlan> taken() {
    if (!best_) return std::nullopt;
    best_->plan.evaluations = evaluations_;
    return std::move(best_->plan);
  }

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
  /// than load asks for, and packing has plans that lead further, but for few tables.
  [[nodiscard]] bool changes_may_pay() const {
    const bool roomy = first_ && !first_->plan.finer;
    return evaluator_.additive() && (roomy || costliest_.size() <= kFewChanged) &&
           best_->plan.cost > balanced_load_ * (1 + kRounding);
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

  /// With the largest of the tables in even blocks, the two largest, ..: they fill all devices
  /// alike, so that columns of the others fit beside them.
  void with_largest() {
    const auto bytes = [&](std::int32_t table) {
      return catalog_.entry(catalog_.whole(table)).bytes;
    };
    std::vector<std::int32_t> tables = those_for(Division::kBlocks);
    std::stable_sort(tables.begin(), tables.end(),
                     [&](std::int32_t a, std::int32_t b) { return bytes(a) > bytes(b); });
    for (std::size_t count = 1; count <= tables.size() && !over(); count += 1 + count / 8) {
      attempt_new(divisions_of(catalog_, std::span(tables).first(count), Division::kBlocks));
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
    std::optional<FastPlan> found = fast_plan(problem_, evaluator_, catalog_, stop_, divisions,
                                              budget_ - evaluations_, rows_on_one_host_);
    if (!found) return false;
    evaluations_ += found->evaluations;
    // Of equals the one of fewer pieces: a table is not spread without a gain.
    const auto rank = [](const FastPlan& plan) { return std::pair(plan.cost, plan.pieces.size()); };
    if (best_ && rank(*found) >= rank(best_->plan)) return false;
    best_ = {*std::move(found), divisions};
    return true;
  }

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const StopCheck& stop_;
  const std::int64_t budget_;
  const std::optional<DividedPlan>& first_;
  const std::vector<std::int32_t> costliest_;
  const double balanced_load_;  // where costs add up
  bool rows_on_one_host_ = false;
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

std::optional<FastPlan> fast_gathered_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                           const ShapeCatalog& catalog, const StopCheck& stop,
                                           std::int64_t budget) {
  return FastRowPlans(problem, evaluator, catalog, stop, budget, {}).run_on_one_host_each();
}

std::optional<FastPlan> fast_row_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                      const ShapeCatalog& catalog, const StopCheck& stop,
                                      std::int64_t budget,
                                      const std::optional<DividedPlan>& first) {
  return FastRowPlans(problem, evaluator, catalog, stop, budget, first).run();
}

}  // namespace neuroshard::search
