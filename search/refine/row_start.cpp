#include "search/refine/row_start.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "search/feasibility.h"
#include "search/local/plan_pieces.h"
#include "search/packing/plan_packing.h"
#include "search/packing/what_would_do.h"
#include "search/piece_sizes.h"
#include "search/plan_cost.h"
#include "search/refine/fast_plan.h"

namespace neuroshard::search {
namespace {

constexpr double kShare = 0.4;     // of the time or the budget, for plans by load: walks follow
constexpr double kSeconds = 0.02;  // or this much for each, if there is

using Divisions = std::vector<Division>;

/// Blocks over hosts alone, over all devices alone, and halves alone; or no rows.
std::vector<RowShapes> ways_of(const RowShapes& rows) {
  std::vector<RowShapes> ways;
  if (rows.host > 1) ways.push_back({0, 1, rows.host, rows.replicas});
  if (rows.blocks > 1) ways.push_back({rows.blocks, 1, 0, rows.replicas});
  if (rows.halves > 1) ways.push_back({0, rows.halves, 0, rows.replicas});
  if (ways.empty()) ways.push_back(rows);  // replicas
  return ways;
}

/// Plans of one way after the other.
class RowStart {
 public:
  RowStart(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog,
           const SearchOptions& options, std::size_t ways)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(catalog),
        soon_(options),
        stop_(options),
        budget_(budget_share(options, kShare / static_cast<double>(ways))) {
    if (!paced_by_time(options)) return;
    soon_.time_limit_s =
        share_of(options.time_limit_s, kShare / static_cast<double>(ways), kSeconds);
  }

  void by_load(const RowShapes& way);
  void by_memory(Plan packed);
  /// There is a plan and no time for another.
  [[nodiscard]] bool enough() const { return !found_.empty() && stop_.stop(); }
  [[nodiscard]] bool any() const { return !found_.empty(); }
  /// The cheapest. REQUIRES any().
  [[nodiscard]] FirstPlan take();

 private:
  [[nodiscard]] std::optional<Divisions> forced(const RowShapes& way) const;
  [[nodiscard]] Division row_division(std::int32_t table, const RowShapes& way,
                                      std::int64_t memory) const;
  [[nodiscard]] Divisions divisions_of(const Assignment& pieces) const;
  [[nodiscard]] StartPlan costed(Plan plan, std::int64_t evaluations);
  [[nodiscard]] StartPlan costed(const FastPlan& fast) {
    return start_of(fast, problem_, evaluator_, catalog_);
  }

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  SearchOptions soon_;  // for one plan by load
  const StopCheck stop_;
  const std::int64_t budget_;  // the same
  std::vector<StartPlan> found_;
};

FirstPlan RowStart::take() {
  std::int64_t evaluations = 0;
  for (const StartPlan& plan : found_) evaluations += plan.evaluations;
  const auto cheapest =
      std::min_element(found_.begin(), found_.end(),
                       [](const StartPlan& a, const StartPlan& b) { return a.cost < b.cost; });
  FirstPlan first{std::move(*cheapest), {}};
  first.plan.evaluations = evaluations;
  return first;
}

StartPlan RowStart::costed(Plan plan, std::int64_t evaluations) {
  canonicalize(plan);
  const double cost = plan_cost(plan, evaluator_);
  return {std::move(plan), cost, evaluations, false};
}

/// As the way says or, where the table has no such pieces or no device has the memory for them, in
/// another; the usual division where no rows do.
Division RowStart::row_division(std::int32_t table, const RowShapes& way,
                                std::int64_t memory) const {
  const Division first = way.host > 1     ? Division::kHosts
                         : way.blocks > 1 ? Division::kBlocks
                                          : Division::kRows;
  for (const Division division : {first, Division::kHosts, Division::kBlocks, Division::kRows}) {
    EntryId finest = undivided(catalog_, table, division);
    if (finest == kNoEntry) continue;
    const auto part = division == Division::kRows ? &CatalogEntry::upper : &CatalogEntry::first;
    const EntryId all = finest;
    while (catalog_.entry(finest).*part != kNoEntry) finest = catalog_.entry(finest).*part;
    if (division == Division::kRows && finest == all) continue;  // its rows are not halved
    if (catalog_.entry(finest).bytes <= memory) return division;
  }
  return usual_division(catalog_, table);
}

/// Rows for the tables that no columns make fit, beside such blocks of others; nothing when there
/// are none, or one that has no rows, but columns.
std::optional<Divisions> RowStart::forced(const RowShapes& way) const {
  std::vector<std::pair<std::int64_t, std::int32_t>> order;
  for (std::int32_t table = 0; table < catalog_.tables(); ++table) {
    order.emplace_back(-finest_column_bytes(problem_.space, table), table);
  }
  std::sort(order.begin(), order.end());
  Divisions divisions = usual_divisions(catalog_);
  std::int64_t memory = problem_.cluster.memory_bytes;
  for (const auto& [bytes, table] : order) {
    if (-bytes <= memory) break;
    Division& own = divisions[static_cast<std::size_t>(table)];
    own = row_division(table, way, memory);
    if (own == Division::kColumns) return std::nullopt;
    const CatalogEntry& entry = catalog_.entry(undivided(catalog_, table, own));
    if (entry.everywhere()) memory -= entry.bytes;
  }
  const bool none = -order.front().first <= problem_.cluster.memory_bytes;
  return none || memory < 0 ? std::nullopt : std::optional(std::move(divisions));
}

Divisions RowStart::divisions_of(const Assignment& pieces) const {
  Divisions divisions = usual_divisions(catalog_);
  for (const Placed& piece : pieces) {
    const CatalogEntry& entry = catalog_.entry(piece.entry);
    const bool all_rows = entry.rows == catalog_.entry(catalog_.whole(entry.table)).rows;
    Division& own = divisions[static_cast<std::size_t>(entry.table)];
    own = entry.spread == Spread::kReplicas ? Division::kReplicas
          : entry.spread == Spread::kAll    ? Division::kBlocks
          : entry.spread == Spread::kHost   ? Division::kHosts  // halved rows may be just that
          : all_rows                        ? Division::kColumns
                                            : Division::kRows;
  }
  return divisions;
}

void RowStart::by_load(const RowShapes& way) {
  const std::optional<Divisions> divisions = forced(way);
  if (!divisions) return;
  const auto fast =
      fast_plan(problem_, evaluator_, catalog_, StopCheck(soon_), *divisions, budget_);
  if (fast) found_.push_back(costed(*fast));
}

/// By load with the same tables in rows; where that does not fit, the packed plan is improved.
void RowStart::by_memory(Plan packed) {
  StartPlan best = costed(std::move(packed), 1);
  const Assignment pieces = pieces_of(best.plan, problem_.workload, catalog_);
  if (!pieces.empty()) {
    const StopCheck soon(soon_);
    auto fast = fast_plan(problem_, evaluator_, catalog_, soon, divisions_of(pieces), budget_);
    if (!fast) fast = descend(problem_, evaluator_, catalog_, soon, pieces, budget_);
    StartPlan better = costed(*fast);
    if (better.cost < best.cost) best = std::move(better);
  }
  found_.push_back(std::move(best));
}

/// With more row splits, with data-parallel tables, or both: the least change first.
std::vector<SearchOptions> wider_than(const SearchOptions& options) {
  std::vector<SearchOptions> all;
  for (const bool replicate : {false, true}) {
    const bool changed = replicate != options.replicate;
    if (changed && !(replicate && options.possible_replicas)) continue;
    for (const RowSplits splits : {RowSplits::kOff, RowSplits::kEven, RowSplits::kAny}) {
      if (splits < options.row_splits || splits > options.possible_row_splits) continue;
      SearchOptions wider = options;
      wider.row_splits = splits;
      wider.replicate = replicate;
      if (changed || splits > options.row_splits) all.push_back(wider);
    }
  }
  return all;
}

std::string what_is_wider(const SearchOptions& wider, const SearchOptions& options) {
  std::string text;
  if (wider.row_splits > options.row_splits) {
    text = "row splits '" + std::string(to_string(wider.row_splits)) + "'";
  }
  if (wider.replicate == options.replicate) return text;
  return text + (text.empty() ? "" : " and ") + "data-parallel tables";
}

}  // namespace

Result<FirstPlan> row_start(const Problem& problem, PlanEvaluator& evaluator,
                            const ShapeCatalog& catalog, const RowShapes& rows,
                            const SearchOptions& options, const Status& why_not_whole) {
  std::vector<RowShapes> ways = ways_of(rows);
  RowStart start(problem, evaluator, catalog, options, ways.size());
  for (const RowShapes& way : ways) {
    if (!start.enough()) start.by_load(way);
  }
  if (start.any()) return start.take();
  const StopCheck patience(with_patience(options));
  if (rows.blocks > 1 && rows.halves > 1) {
    ways.push_back({rows.blocks, rows.halves, 0, rows.replicas});
  }
  for (const RowShapes& way : ways) {
    if (start.enough()) break;
    if (way.host > 1) continue;  // packing knows no hosts
    if (auto packed = plan_by_memory_with_rows(problem, way, patience)) {
      start.by_memory(*std::move(packed));
    }
  }
  if (start.any()) return start.take();
  if (patience.stop()) return stopped_before_plan();
  // That tables may not be whole is no reason any more: here they are not, and memory is short.
  const bool may_be_whole = check_pieces(problem).ok();
  const Status why_not = may_be_whole ? why_not_whole : no_arrangement(problem);
  return options.advise ? what_would_do(problem, rows, patience, why_not) : why_not;
}

// Tables that may only be on every device are not for the packing of columns, nor those that fit no
// other way: a device has its own part of the buffers of a replica alone.
bool may_start_in_rows(const Problem& problem, const RowShapes& rows) {
  return rows.splits_rows() || !check_pieces(problem).ok() ||
         (rows.replicas > 1 && !check_finest_pieces(problem).ok());
}

Status with_wider_options(const Problem& problem, const SearchOptions& options,
                          const Status& why_not) {
  SearchOptions patient = options;
  patient.time_limit_s = kFirstPlanSeconds;
  const StopCheck stop(patient);
  for (const SearchOptions& wider : wider_than(options)) {
    const RowShapes rows = row_shapes(wider, problem.cluster.devices);
    if (wider.row_splits > options.row_splits && !rows.splits_rows()) continue;
    if (!check_pieces(problem, rows).ok() || !check_total_memory(problem, rows).ok()) continue;
    if (plan_by_memory_with_rows(problem, rows, stop)) {
      return infeasible(why_not.message() + "; it fits with " + what_is_wider(wider, options));
    }
  }
  return why_not;
}

}  // namespace neuroshard::search
