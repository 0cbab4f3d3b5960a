#pragma once

#include "engine/core/plan_sink.h"
#include "engine/core/table.h"
#include "engine/planner/offload/host_pins.h"

namespace neuroshard {

/// Passes on the plans of a search that hosts have the memory for: with kernels given, a search
/// asks for the memory of devices alone.
class FittingSink final : public PlanSink {
 public:
  /// What it is made of must outlive it.
  FittingSink(const Workload& workload, const Hosts& hosts, PlanSink& sink)
      : workload_(workload), hosts_(hosts), sink_(sink) {}

  [[nodiscard]] bool wants(double cost_ms) const override;
  void offer(const Plan& plan, double cost_ms) override;

 private:
  const Workload& workload_;
  const Hosts& hosts_;
  PlanSink& sink_;
};

/// Whether no host has more than its memory.
bool fits_hosts(const Workload& workload, const Hosts& hosts, const Plan& plan);

}  // namespace neuroshard
