#include "search/refine/packed_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "search/local/plan_pieces.h"
#include "search/packing/plan_packing.h"
#include "search/refine/divider.h"

namespace neuroshard::search {
namespace {

// A table is large from a fourth of a device's memory on. Where costs add up, small ones in blocks
// pay, too: they take from all devices alike what no columns of theirs would.
constexpr std::int64_t kLarge = 4;
constexpr std::size_t kMostBlockTables = 8;  // that are tried in blocks

class PackedPlans {
 public:
  PackedPlans(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
              const StopCheck& stop, std::int64_t budget)
      : problem_(problem), evaluator_(evaluator), catalog_(catalog), stop_(stop), budget_(budget) {}

  std::optional<FastPlan> run() {
    std::vector<std::int32_t> left = block_tables();
    attempt({});
    for (std::vector<std::int32_t> spread; !left.empty() && !over();) {
      std::optional<std::size_t> best;
      for (std::size_t k = 0; k < left.size() && !over(); ++k) {
        spread.push_back(left[k]);
        if (attempt(spread)) best = k;
        spread.pop_back();
      }
      if (!best && best_) break;
      const std::size_t taken = best.value_or(0);  // as long as nothing fits, the costliest
      spread.push_back(left[taken]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(taken));
    }
    if (best_) best_->evaluations = evaluations_;
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool over() const { return stop_.stop() || evaluations_ >= budget_; }

  /// Those that are tried in blocks, the costliest first.
  [[nodiscard]] std::vector<std::int32_t> block_tables() const {
    const std::int64_t least = evaluator_.additive() ? 0 : problem_.cluster.memory_bytes / kLarge;
    std::vector<std::int32_t> tables = costliest_tables(evaluator_, catalog_);
    std::erase_if(tables, [&](std::int32_t table) {
      return catalog_.block(table) == kNoEntry ||
             catalog_.entry(catalog_.whole(table)).bytes < least;
    });
    if (tables.size() > kMostBlockTables) tables.resize(kMostBlockTables);
    return tables;
  }

  /// Whether that is the cheapest plan so far.
  bool attempt(const std::vector<std::int32_t>& spread) {
    std::optional<FastPlan> found =
        packed_beside(spread, problem_, evaluator_, catalog_, stop_, budget_ - evaluations_);
    if (!found) return false;
    evaluations_ += found->evaluations;
    if (best_ && found->cost >= best_->cost) return false;
    best_ = std::move(found);
    return true;
  }

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const StopCheck& stop_;
  const std::int64_t budget_;
  std::int64_t evaluations_ = 0;
  std::optional<FastPlan> best_;
};

}  // namespace

std::optional<FastPlan> packed_beside(std::span<const std::int32_t> blocks, const Problem& problem,
                                      const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                                      const StopCheck& stop, std::int64_t budget) {
  const std::optional<Plan> packed = plan_by_memory_with_blocks(problem, blocks, stop);
  if (!packed) return std::nullopt;
  const Assignment pieces = pieces_of(*packed, problem.workload, catalog);
  if (pieces.empty()) return std::nullopt;
  return descend(problem, evaluator, catalog, stop, pieces, budget);
}

std::optional<FastPlan> packed_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                    const ShapeCatalog& catalog, const StopCheck& stop,
                                    std::int64_t budget) {
  return PackedPlans(problem, evaluator, catalog, stop, budget).run();
}

}  // namespace neuroshard::search
