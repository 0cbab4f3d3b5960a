#include "bench/refine/setup.h"

namespace neuroshard::bench {

Cluster cluster_of(std::int32_t devices, std::int64_t memory_bytes) {
  Cluster cluster;
  cluster.devices = devices;
  cluster.memory_bytes = memory_bytes;
  return cluster;
}

Workload draw(const Setup& setup, std::int64_t count, Rng& rng) {
  Workload workload;
  workload.batch_size = setup.models.models.batch_size;
  for (std::int64_t k = 0; k < count; ++k) {
    workload.tables.push_back(setup.pool.tables[rng.below(setup.pool.tables.size())]);
    workload.tables.back().dim = static_cast<std::int32_t>(4 << rng.below(6));
  }
  return workload;
}

std::vector<ComparedPlan> compare(const Setup& setup, const Workload& workload,
                                  const Cluster& cluster, const std::vector<std::string>& names,
                                  const PlanOptions& options) {
  return must(compare_plans(workload, cluster, setup.models.models, names, options));
}

}  // namespace neuroshard::bench
