#pragma once

#include "search/problem.h"

namespace neuroshard::search {

/// HugeCTR's own planner as its DLRM sample runs it (hugectr_rule.h): on one host over devices
/// (`auto`), on several over hosts, whose devices all have an equal part of what the host gets
/// (`hier_auto`). With SearchOptions::replicate, tables of fewer bytes than its DGX H100
/// configurations say are on every device: 8 MB on one host, 12.5 MB on several. A column costs a
/// quarter of SearchOptions::memory_network_ratio lookups of one. Unless row_splits are kAny,
/// tables are whole on single devices, as in the rule's first round. Looks at no costs. A
/// yardstick: what HugeCTR's users run without another planner. Errors: kInfeasible where tables do
/// not fit; kInvalidInput where a table does not allow its shards.
Result<Plan> hugectr_plan(const Problem& problem, const SearchOptions& options);

/// The same as a Sharder.
Result<SearchResult> shard_hugectr(const Problem& problem, PlanEvaluator& evaluator,
                                   const SearchOptions& options);

}  // namespace neuroshard::search
