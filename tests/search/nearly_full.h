#pragma once

#include <cstdint>

#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::test {

/// A workload on devices whose memory it nearly fills.
struct NearlyFull {
  Workload workload;
  Cluster cluster;

  NearlyFull(Rng& rng, std::int64_t tables, std::int32_t devices, double memory_slack)
      : workload(many_tables(rng, tables)),
        cluster(cluster_with_room(workload, devices, memory_slack)) {}
};

inline Result<search::SearchResult> refined(const NearlyFull& task,
                                            search::PlanEvaluator& evaluator,
                                            std::int64_t evaluations, ThreadPool* pool = nullptr) {
  search::SearchOptions options;
  options.evaluations = evaluations;
  options.pool = pool;
  return search::shard_refine({task.workload, task.cluster}, evaluator, options);
}

}  // namespace neuroshard::test
