#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/plan_sink.h"
#include "engine/core/step_buffers.h"
#include "engine/core/table.h"

namespace neuroshard {

/// A plan and what counts of it beside others on as many devices: the less of both, the better.
struct ArchivedPlan {
  Plan plan;
  std::int64_t memory_bytes = 0;  ///< of the fullest device
  double cost_ms = 0;
};

/// The plans of one workload that no other on as many devices beats, with at most as much memory on
/// the fullest and at most that cost. Of plans that differ little in memory, one a
/// step of kMemoryStep, only the cheapest stays, so that there are some hundreds at most, but for
/// those that were kept on purpose. Not thread-safe.
class PlanArchive final : public PlanSink {
 public:
  /// A share: steps of memory. Plans of examples/dlrm_dcnv2.json on 8 devices that are this near
  /// each other in memory differ in cost by what two seeds do.
  static constexpr double kMemoryStep = 0.005;

  /// The workload outlives it.
  PlanArchive(const Workload& workload, StepBuffers buffers)
      : workload_(workload), buffers_(buffers) {}

  void offer(const Plan& plan, double cost_ms) override;
  /// The same of a plan that only one that beats it replaces.
  void keep(const Plan& plan, double cost_ms);

  /// The cheapest plan of exactly so many devices that takes no more memory, null where none is;
  /// valid until the next call that is not const.
  [[nodiscard]] const ArchivedPlan* within(std::int32_t devices, std::int64_t memory_bytes) const;
  /// By devices, then memory.
  [[nodiscard]] std::vector<ArchivedPlan> plans() const;

 private:
  struct Entry {
    ArchivedPlan archived;
    bool kept = false;
  };

  void add(const Plan& plan, double cost_ms, bool kept);

  const Workload& workload_;
  const StepBuffers buffers_;
  std::vector<Entry> entries_;
};

}  // namespace neuroshard
