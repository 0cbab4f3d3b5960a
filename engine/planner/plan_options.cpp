#include "engine/planner/plan_options.h"

#include <algorithm>

namespace neuroshard {

PlanOptions as_trainer_runs(PlanOptions options) {
  options.row_splits = std::min(options.row_splits, options.trainer.row_splits);
  if (options.trainer.equal_columns) {
    options.row_splits = std::min(options.row_splits, RowSplits::kEven);  // halves are none
  }
  options.hot_rows = options.hot_rows && options.trainer.hot_rows;
  return options;
}

search::HotRowsBeside hot_rows_beside(const TrainerRules& rules, const Table& table) {
  if (rules.hot_bags || !table.pooled) return search::HotRowsBeside::kAnyShards;
  return table.pooling_factor <= table.features ? search::HotRowsBeside::kWhole
                                                : search::HotRowsBeside::kNone;
}

}  // namespace neuroshard
