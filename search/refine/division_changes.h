#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/local/shape_catalog.h"
#include "search/plan_evaluator.h"
#include "search/refine/divider.h"

namespace neuroshard::search {

/// Plans by divisions of all tables, of which somebody keeps the cheapest.
class DivisionTrials {
 public:
  virtual ~DivisionTrials() = default;

  /// Whether there is no time or budget for another plan.
  [[nodiscard]] virtual bool over() const = 0;
  /// Those of the cheapest plan so far, one a table.
  [[nodiscard]] virtual const std::vector<Division>& divisions() const = 0;
  /// All tables, the costliest first.
  [[nodiscard]] virtual std::span<const std::int32_t> tables() const = 0;
  /// Whether a plan of such divisions is the cheapest so far; false where it was tried before.
  virtual bool attempt_new(const std::vector<Division>& divisions) = 0;
};

/// Tries tables in other divisions, as long as that gains: rules go by what devices take together,
/// and do not see which pieces fill the last gaps. One table after the other; of few, two at once
/// where no single one gains: where memory is tight, rows of a table may fit only without columns
/// of another. REQUIRES costs that add up.
void change_divisions(DivisionTrials& trials, const PlanEvaluator& evaluator,
                      const ShapeCatalog& catalog);

}  // namespace neuroshard::search
