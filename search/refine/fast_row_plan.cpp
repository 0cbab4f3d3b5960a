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
/// Of the level, where hosts count: the dearest piece. The first is first_plan()'s.
constexpr std::array kHeaviest{1.0, 0.5, 0.35, 0.7, 1.4, 2.0, 4.0};

bool cheaper_in_blocks(std::int32_t devices, const PlanEvaluator& evaluator,
                       const ShapeCatalog& catalog, std::int32_t table) {
  const auto cost = [&](EntryId id) { return evaluator.shape_cost(catalog.entry(id).shape); };
  const EntryId block = catalog.block(table);
  return block != kNoEntry && devices * cost(block) < cost(catalog.whole(table));
}

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
    more_and_more(halves, Division::kRows, 0);
    const std::vector<std::int32_t> blocks = those_for(Division::kBlocks, dearest);
    by_hosts();
    with_bargains(blocks);
    more_and_more(blocks, Division::kBlocks, 0);
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

  /// With all of `blocks` that are cheaper so, and with more of them, dearest first.
  void with_bargains(std::vector<std::int32_t> blocks) {
    const auto others =
        std::stable_partition(blocks.begin(), blocks.end(), [&](std::int32_t table) {
          return cheaper_in_blocks(problem_.cluster.devices, evaluator_, catalog_, table);
        });
    const auto bargains = static_cast<std::size_t>(others - blocks.begin());
    if (bargains == 0 || over()) return;
    attempt(divisions_of(catalog_, std::span(blocks).first(bargains), Division::kBlocks));
    more_and_more(blocks, Division::kBlocks, bargains);
  }

  /// Where hosts count, with the cheapest divisions into pieces of at most some multiple of the
  /// level.
  void by_hosts() {
    if (catalog_.host_devices() == 0) return;
    const double level = cheapest_level(problem_.cluster.devices, evaluator_, catalog_);
    std::set<std::vector<Division>> tried;
    for (const double multiple : kHeaviest) {
      if (over()) return;
      const auto divisions = cheapest_divisions(multiple * level, evaluator_, catalog_);
      if (!tried.insert(divisions).second) continue;
      attempt(divisions);
    }
  }

  /// With one more than `from` of the tables, two more, ..
  void more_and_more(std::span<const std::int32_t> tables, Division division, std::size_t from) {
    int failures = 0;
    for (std::size_t count = from + 1; count <= tables.size() && failures < kPatience && !over();
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
    if (any_ && found->cost >= best_.cost) return false;
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

std::vector<std::int32_t> tables_cheaper_in_blocks(std::int32_t devices,
                                                   const PlanEvaluator& evaluator,
                                                   const ShapeCatalog& catalog) {
  std::vector<std::int32_t> tables = dearest_tables(evaluator, catalog);
  std::erase_if(tables, [&](std::int32_t table) {
    return !cheaper_in_blocks(devices, evaluator, catalog, table);
  });
  return tables;
}

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
