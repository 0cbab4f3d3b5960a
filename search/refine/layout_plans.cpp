#include "search/refine/layout_plans.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/rng.h"
#include "search/feasibility.h"
#include "search/local/comm_response.h"
#include "search/local/local_plan.h"
#include "search/local/plan_pieces.h"
#include "search/plan_cost.h"
#include "search/refine/fast_start.h"
#include "search/refine/piece_trials.h"
#include "search/refine/table_layouts.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

// 90 tasks of 2 to 8 tables that fill 2 to 90 % of 8 to 32 devices are cheaper in the mean, after
// 10,000 and 100,000 candidates, by 3.2 and 2.5 % (h200_sim), 3.3 and 3.0 (a100_sim), 0.5 and 0.3
// (TorchRec's formula). 60 others: with a share of 0.05 2.5 instead of 2.7 % (h200_sim, 10,000).
constexpr std::int32_t kMostLaidTables = 8;
// Where costs add up. Beside 8 there, too, tasks on 4 to 16 devices that fill 10 to 80 % of them,
// after 30,000, 100,000 and 1,000,000 candidates: 60 of 9 to 14 tables are 0.64, 0.49 and 0.09 %
// cheaper in the mean, 50 of 15 to 24 tables 0.76, 0.31 and 0.00, 40 of 25 to 40 0.47, 0.24 and
// 0.06, 24 of 41 to 60 0.31, 0.28 and 0.04. By networks (h200_sim) 40 of 9 to 14 are 0.1 % cheaper
// after 100,000 and 0.2 % dearer after 300,000.
constexpr std::int32_t kMostAddedUp = 60;
// By networks, where tables fill this much of the memory. h200_sim, after 30,000 and 100,000
// candidates: 40 tasks of 9 to 15 tables that fill 70 to 98 % of 2 to 8 devices are 1.0 and 0.7 %
// cheaper in the mean, 40 of 18 to 40 on 4 to 16 devices 2.8 and 2.0, some by 20; 20 of 60 to 100
// 0.1 % dearer and 0.2 cheaper. 40 of 9 to 40 that fill 10 to 60 % would be 0.2 and 0.1 % dearer.
// Or where several hosts add up partial sums: 100 tasks of 4 to 40 tables on 16 to 64 devices
// (h200_sim, h100_sim, a100_sim) are 0.6 % cheaper after 50,000 candidates, for 1.4 times the time,
// and 40 of 9 to 60 on 16 to 128 0.7 after 30,000. A share of 0.25 gains nothing.
constexpr double kTight = 0.7;
constexpr std::int32_t kMostLaidTight = 48;
constexpr double kLayoutShare = 0.1;      // of the time left, or the budget
constexpr std::int64_t kLeastPasses = 2;  // through the layouts of all tables, that it is worth
constexpr std::size_t kLaidKept = 6;      // plans to go on from
constexpr std::size_t kMostBeside = 2;    // the first plan, ..
constexpr double kBesideCost = 1.1;       // .. at most so many times as dear
constexpr int kMostInVain = 100;          // choices in a row that were tried before
constexpr std::int32_t kProbedForLayouts = 2;  // devices
constexpr double kDoesNotFit = std::numeric_limits<double>::infinity();

using Choice = TableLayouts::Choice;

struct LaidPlan {
  Choice choice;
  double cost = kDoesNotFit;
  Assignment pieces{};
};

/// Whether hosts may add up rows of a table.
bool hosts_add_up(const PlanEvaluator& evaluator, const ShapeCatalog& catalog) {
  if (evaluator.host_devices() == 0) return false;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    const bool rows = catalog.entry(catalog.whole(table)).upper != kNoEntry;
    if (rows || catalog.host_block(table) != kNoEntry) return true;
  }
  return false;
}

/// How many tables may be laid out as wholes.
std::int32_t most_laid_tables(const Problem& problem, const PlanEvaluator& evaluator,
                              const ShapeCatalog& catalog) {
  if (evaluator.additive()) return kMostAddedUp;
  const bool more = filled_memory(problem) >= kTight || hosts_add_up(evaluator, catalog);
  return more ? kMostLaidTight : kMostLaidTables;
}

class LayoutPlans {
 public:
  LayoutPlans(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog,
              const StopCheck& stop, const Assignment& start, std::int64_t budget)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(catalog),
        stop_(stop),
        budget_(budget),
        layouts_(problem, catalog, start),
        trials_(problem, evaluator, catalog) {
    LocalPlan plan(problem, evaluator, catalog);
    plan.assign(start);
    Scratch scratch;
    trials_.set_response(probe_response(plan.batch(), evaluator, scratch, kProbedForLayouts));
  }

  /// The cheapest first.
  std::vector<LaidPlan> run() {
    if (budget_ < kLeastPasses * layouts_.count()) return {};
    descend_from(Choice(layouts_.tables(), 0));
    for (const Division division : kLayoutDivisions) descend_from_alike(division);
    for (int in_vain = 0; in_vain < kMostInVain && !found_.empty() && !over(); ++in_vain) {
      const std::size_t from = rng_.below(std::min<std::size_t>(2, found_.size()));
      if (descend_from(layouts_.other_than(found_[from].choice, rng_))) in_vain = 0;
    }
    return std::move(found_);
  }

  [[nodiscard]] std::int64_t placed() const { return placed_; }

 private:
  [[nodiscard]] bool over() const { return placed_ >= budget_ || stop_.stop(); }

  [[nodiscard]] bool has_parts_of_rows(const Pieces& pieces) const {
    return std::any_of(pieces.begin(), pieces.end(), [&](EntryId id) {
      const CatalogEntry& entry = catalog_.entry(id);
      return entry.moves() && entry.rows < catalog_.entry(catalog_.whole(entry.table)).rows;
    });
  }

  /// False where the choice was tried before or costs no less.
  bool improve(LaidPlan& best, Choice choice) {
    if (over() || !tried_.insert(choice).second) return false;
    ++placed_;
    const Pieces pieces = layouts_.pieces_of(choice);
    if (!trials_.place(pieces)) return false;
    const Assignment& placed = trials_.placer().assignment();
    double cost = trials_.last_cost();
    if (!evaluator_.additive() && has_parts_of_rows(pieces)) {
      cost = plan_cost(plan_of(placed, problem_.workload, catalog_, problem_.cluster.devices),
                       evaluator_);
    }
    if (!(cost < best.cost * (1 - kRealGain))) return false;
    best = {std::move(choice), cost, placed};
    return true;
  }

  /// False where the choice was tried before.
  bool descend_from(const Choice& choice) {
    const std::size_t before = tried_.size();
    LaidPlan plan{choice};
    improve(plan, choice);
    if (tried_.size() == before) return false;
    descend(std::move(plan));
    return true;
  }

  /// From the cheapest choice of tables that are divided alike.
  void descend_from_alike(Division division) {
    LaidPlan best;
    for (Choice& choice : layouts_.alike(division)) improve(best, std::move(choice));
    if (best.cost != kDoesNotFit) descend(std::move(best));
  }

  /// One table after the other changes its layout, as long as that gains.
  void descend(LaidPlan plan) {
    std::size_t since_gain = 0;
    for (std::size_t table = 0; since_gain++ < layouts_.tables() && !over();
         table = (table + 1) % layouts_.tables()) {
      Choice changed = plan.choice;
      for (std::size_t layout = 0; layout < layouts_.layouts(table); ++layout) {
        changed[table] = layout;
        if (improve(plan, changed)) since_gain = 0;
      }
    }
    if (plan.cost == kDoesNotFit) return;
    const auto place =
        std::lower_bound(found_.begin(), found_.end(), plan,
                         [](const LaidPlan& a, const LaidPlan& b) { return a.cost < b.cost; });
    if (place != found_.end() && place->cost == plan.cost) return;
    found_.insert(place, std::move(plan));
    if (found_.size() > kLaidKept) found_.pop_back();
  }

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const StopCheck& stop_;
  const std::int64_t budget_;
  const TableLayouts layouts_;
  PieceTrials trials_;
  Rng rng_{1};
  std::set<Choice> tried_;
  std::vector<LaidPlan> found_;
  std::int64_t placed_ = 0;
};

}  // namespace

FirstPlan with_plans_in_layouts(FirstPlan first, const Problem& problem, PlanEvaluator& evaluator,
                                const ShapeCatalog& catalog, const SearchOptions& options,
                                std::chrono::steady_clock::time_point began) {
  if (catalog.tables() > most_laid_tables(problem, evaluator, catalog)) return first;
  const Assignment start = pieces_of(first.plan.plan, problem.workload, catalog);
  if (start.empty()) return first;
  const StopCheck stop = share_of_time(options, began, kLayoutShare, 0);
  LayoutPlans plans(problem, evaluator, catalog, stop, start, budget_share(options, kLayoutShare));
  std::vector<StartPlan> others;
  for (const LaidPlan& laid : plans.run()) {
    StartPlan own = start_of(FastPlan{laid.pieces}, problem, evaluator, catalog);
    if (own.cost < first.plan.cost) {
      std::swap(own.plan, first.plan.plan);
      std::swap(own.cost, first.plan.cost);
    }
    if (own.plan.shards != first.plan.plan.shards) others.push_back(std::move(own));
  }
  first.plan.evaluations += plans.placed();
  std::stable_sort(others.begin(), others.end(),
                   [](const StartPlan& a, const StartPlan& b) { return a.cost < b.cost; });
  others.resize(std::min(others.size(), kMostBeside));
  for (StartPlan& other : others) {
    if (other.cost < kBesideCost * first.plan.cost) first.others.push_back(std::move(other.plan));
  }
  return first;
}

}  // namespace neuroshard::search
