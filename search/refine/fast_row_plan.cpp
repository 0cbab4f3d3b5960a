#include "search/refine/fast_row_plan.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "search/local/redraw.h"
#include "search/refine/cheapest_divisions.h"

namespace neuroshard::search {
namespace {

constexpr int kPatience = 4;  // plans in a row that are no cheaper
/// Where costs add up: the heaviest piece, of the level, what load on all devices counts, and above
/// how much of the level columns are too heavy. first_plan() has the level itself and 1.
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
               const StopCheck& stop, std::int64_t most_evaluations)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(catalog),
        stop_(stop),
        most_evaluations_(most_evaluations) {}

  std::optional<FastPlan> run() {
    const std::vector<std::int32_t> dearest = dearest_tables(evaluator_, catalog_);
    const std::vector<std::int32_t> halves = those_for(Division::kRows, dearest);
    if (!halves.empty() && !over()) attempt(divisions_of(catalog_, halves, Division::kRows));
    more_and_more(halves, Division::kRows);
    const std::vector<std::int32_t> blocks = those_for(Division::kBlocks, dearest);
    in_cheapest_divisions();
    more_and_more(blocks, Division::kBlocks);
    if (!any_) return std::nullopt;
    best_.evaluations = evaluations_;
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool over() const {
    return stop_.stop() || (most_evaluations_ > 0 && evaluations_ >= most_evaluations_);
  }

  /// The tables that can be divided that way.
  [[nodiscard]] std::vector<std::int32_t> those_for(Division division,
                                                    std::vector<std::int32_t> tables) const {
    std::erase_if(tables, [&](std::int32_t table) {
      return division == Division::kBlocks
                 ? catalog_.block(table) == kNoEntry
                 : catalog_.entry(catalog_.whole(table)).upper == kNoEntry;
    });
    return tables;
  }

  /// Where costs add up, all tables at once, each in the way that costs the devices least.
  void in_cheapest_divisions() {
    if (!evaluator_.additive()) return;
    const double level = cheapest_level(problem_.cluster.devices, evaluator_, catalog_);
    std::set<std::vector<Division>> tried{cheapest_divisions({level}, evaluator_, catalog_)};
    const auto attempt_new = [&](const std::vector<Division>& divisions) {
      if (tried.insert(divisions).second) attempt(divisions);
    };
    if (!over()) attempt_new(divisions_of(catalog_, {}, Division::kColumns));
    for (DivisionRule rule : kRules) {
      if (over()) return;
      rule.most *= level;
      rule.level *= level;
      attempt_new(cheapest_divisions(rule, evaluator_, catalog_));
    }
  }

  /// With the first of the tables, the first two, ..
  void more_and_more(std::span<const std::int32_t> tables, Division division) {
    int failures = 0;
    for (std::size_t count = 1; count <= tables.size() && failures < kPatience && !over();
         count += any_ ? 1 : 1 + count / 2) {
      const bool gained = attempt(divisions_of(catalog_, tables.first(count), division));
      failures = gained || !any_ ? 0 : failures + 1;
    }
  }

  /// Whether that is the cheapest plan so far.
  bool attempt(const std::vector<Division>& divisions) {
    std::optional<FastPlan> found = fast_plan(problem_, evaluator_, catalog_, stop_, divisions);
    if (!found) return false;
    evaluations_ += found->evaluations;
    // Of equals the one of fewer pieces: a table is not spread without a gain.
    const auto rank = [](const FastPlan& plan) { return std::pair(plan.cost, plan.pieces.size()); };
    if (any_ && rank(*found) >= rank(best_)) return false;
    best_ = *std::move(found);
    any_ = true;
    return true;
  }

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const StopCheck& stop_;
  const std::int64_t most_evaluations_;
  std::int64_t evaluations_ = 0;
  FastPlan best_;
  bool any_ = false;  // whether a plan has fitted
};

}  // namespace

std::vector<Division> divisions_of(const ShapeCatalog& catalog,
                                   std::span<const std::int32_t> tables, Division division) {
  std::vector<Division> divisions(static_cast<std::size_t>(catalog.tables()), Division::kColumns);
  for (const std::int32_t table : tables) divisions[static_cast<std::size_t>(table)] = division;
  return divisions;
}

std::optional<FastPlan> fast_row_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                      const ShapeCatalog& catalog, const StopCheck& stop,
                                      std::int64_t most_evaluations) {
  return FastRowPlans(problem, evaluator, catalog, stop, most_evaluations).run();
}

}  // namespace neuroshard::search
