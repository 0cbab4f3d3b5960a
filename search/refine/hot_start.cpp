#include "search/refine/hot_start.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/core/elapsed.h"
#include "engine/core/hot_rows.h"
#include "search/local/plan_pieces.h"
#include "search/piece_sizes.h"
#include "search/refine/fast_start.h"
#include "search/refine/price_list.h"
#include "search/refine/walk_space.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

constexpr double kHotShare = 0.05;     // of the time left, or of the budget, for one plan
constexpr double kHotSeconds = 0.005;  // or this much, if there is

/// Hot rows of a table that pay.
struct Gain {
  double saved_ms = 0;  ///< of each device
  HotRows hot;
  std::int64_t bytes = 0;
};

/// Lookups of a row that looks like one of so many in one batch, but may have had luck: two
/// standard deviations fewer.
double certain_lookups(std::int64_t count) {
  const auto seen = static_cast<double>(count);
  return seen - 2 * std::sqrt(seen);
}

/// A plan with hot rows, in what was searched for it.
struct HotStart {
  Problem problem;
  ShapeCatalog catalog;
  StartPlan plan;
};

class HotStarts {
 public:
  HotStarts(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog,
            const RowShapes& rows, const SearchOptions& options,
            std::chrono::steady_clock::time_point began)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(catalog),
        rows_(rows),
        options_(options),
        began_(began) {}

  std::optional<StartPlan> run(const StartPlan& base, std::int64_t& evaluations) {
    const StopCheck over(options_);
    std::optional<HotStart> best;
    for (int round = 0; round < kPriceRounds && !over.stop(); ++round) {
      const std::vector<Gain> gains = best ? gains_by(best->problem, best->catalog, best->plan.plan)
                                           : gains_by(problem_, catalog_, base.plan);
      bool better = false;
      for (const std::size_t count : counts_to_try(gains.size())) {
        if (gains.empty() || over.stop()) break;
        std::optional<HotStart> found = start_with(std::span(gains).first(count));
        if (!found) continue;
        evaluations += found->plan.evaluations;
        if (found->plan.cost >= (best ? best->plan.cost : base.cost)) continue;
        best.emplace(*std::move(found));
        better = true;
      }
      if (!better) break;
    }
    evaluator_.hold(best ? hot_rows(best->plan.plan) : std::vector<HotRows>());
    if (!best) return std::nullopt;
    return std::move(best->plan);
  }

 private:
  /// By what more of everything takes in that plan, those first that save the most.
  std::vector<Gain> gains_by(const Problem& own, const ShapeCatalog& catalog, const Plan& plan) {
    const Assignment pieces = pieces_of(plan, own.workload, catalog);
    if (pieces.empty()) return {};
    evaluator_.hold(hot_rows(plan));
    const PriceList prices(pieces, own, evaluator_, catalog);
    std::vector<Gain> gains;
    for (std::int32_t table = 0; table < catalog.tables(); ++table) {
      const Gain gain = gain_of(table, prices);
      if (gain.saved_ms > 0) gains.push_back(gain);
    }
    std::sort(gains.begin(), gains.end(), [](const Gain& a, const Gain& b) {
      return std::pair(-a.saved_ms, a.hot.table) < std::pair(-b.saved_ms, b.hot.table);
    });
    return within_memory(std::move(gains));
  }

  /// The hot rows of a table that save the most; none where they save nothing, or all of the table
  /// on every device saves more.
  Gain gain_of(std::int32_t table, const PriceList& prices) {
    const TableSpace& own = problem_.space.of(table);
    if (!has_place_for_hot_rows(own) || !may_be_replicated(own) || own.kernel.offloaded() ||
        !has_pieces_beside_replicas(own)) {
      return {};
    }
    const std::int64_t batch = problem_.workload.batch_size;
    const double all = in_pieces(problem_.space.whole(table), prices);
    // Rows pay by the lookups that are no longer sent, of which one takes as long as:
    const double lookup_ms = prices.of_dim() * own.table->dim / static_cast<double>(batch);
    const double row_ms = prices.of_byte() * 4 * own.table->dim;
    Gain best;
    for (const HotLevel& level : hot_levels(*own.table, batch)) {
      if (certain_lookups(level.min_count) * lookup_ms / evaluator_.devices() <= row_ms) break;
      const HotRows hot{table, level.rows};
      ShardShape cold = problem_.space.whole(table);
      cold.kernel.hot_rows = hot.rows;
      const double saved =
          all - in_pieces(cold, prices) - everywhere(hot_shape(*own.table, hot), prices);
      if (saved > best.saved_ms) {
        best = {saved, hot, hot_row_bytes(*own.table, hot.rows, problem_.space.step)};
      }
    }
    const bool replicas = rows_.replicas > 1;
    if (replicas && all - everywhere(problem_.space.replica(table), prices) > best.saved_ms)
      return {};
    return best;
  }

  [[nodiscard]] bool has_place_for_hot_rows(const TableSpace& own) const {
    if (own.hot_rows != HotRowsBeside::kWhole) return own.hot_rows == HotRowsBeside::kAnyShards;
    return own.sharding.whole &&
           table_bytes(*own.table, problem_.space.step) < problem_.cluster.memory_bytes;
  }

  bool has_pieces_beside_replicas(const TableSpace& own) const {
    RowShapes others = rows_;
    others.replicas = 0;
    return has_pieces(own, others);
  }

  /// What each device has of a table that all of them share.
  double in_pieces(const ShardShape& whole, const PriceList& prices) {
    const ShapeId id = evaluator_.intern(whole);
    return (prices.compute(id) +
            prices.of_dim() * static_cast<double>(evaluator_.exchanged(whole).dims)) /
           evaluator_.devices();
  }

  /// What each device has of what all of them have.
  double everywhere(const ShardShape& shape, const PriceList& prices) {
    const Exchanged exchanged = evaluator_.exchanged(shape);
    return prices.compute(evaluator_.intern(shape)) +
           prices.of_byte() * static_cast<double>(exchanged.collectives.reduced_bytes);
  }

  /// Those that save the most, as many as there is memory for.
  [[nodiscard]] std::vector<Gain> within_memory(std::vector<Gain> gains) const {
    std::int64_t left = std::min(options_.hot_memory_bytes, problem_.cluster.memory_bytes - 1);
    std::erase_if(gains, [&](const Gain& gain) {
      if (gain.bytes > left) return true;
      left -= gain.bytes;
      return false;
    });
    return gains;
  }

  std::optional<HotStart> start_with(std::span<const Gain> gains) {
    std::vector<HotRows> hot;
    for (const Gain& gain : gains) hot.push_back(gain.hot);
    std::sort(hot.begin(), hot.end(),
              [](const HotRows& a, const HotRows& b) { return a.table < b.table; });
    Problem with = with_hot_rows(problem_, hot);
    ShapeCatalog catalog(with.space, evaluator_, rows_, options_.cancel);
    if (!catalog.complete()) return std::nullopt;
    evaluator_.hold(hot);
    std::optional<StartPlan> plan = fast_start(
        with, evaluator_, catalog, share_of_time(options_, began_, kHotShare, kHotSeconds),
        budget_share(options_, kHotShare));
    if (!plan) return std::nullopt;
    return HotStart{std::move(with), std::move(catalog), *std::move(plan)};
  }

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const RowShapes& rows_;
  const SearchOptions& options_;
  const std::chrono::steady_clock::time_point began_;
};

}  // namespace

std::optional<StartPlan> hot_start(const Problem& problem, PlanEvaluator& evaluator,
                                   const ShapeCatalog& catalog, const RowShapes& rows,
                                   const SearchOptions& options,
                                   std::chrono::steady_clock::time_point began,
                                   const StartPlan& base, std::int64_t& evaluations) {
  return HotStarts(problem, evaluator, catalog, rows, options, began).run(base, evaluations);
}

}  // namespace neuroshard::search
