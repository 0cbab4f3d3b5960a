#include "engine/core/trainer_rules.h"

#include <algorithm>

namespace neuroshard {

bool only_whole_tables_move(const TrainerRules& rules, const Workload& workload) {
  if (!rules.names_columns) return true;
  return !rules.cuts_sequences_freely &&
         std::any_of(workload.tables.begin(), workload.tables.end(),
                     [](const Table& table) { return !table.pooled; });
}

}  // namespace neuroshard
