#include "engine/ground_truth/sim/iteration_model.h"

#include <optional>
#include <string>

#include "engine/core/hot_rows.h"
#include "engine/ground_truth/sim/plan_loads.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/ground_truth/sim/step_parts.h"

namespace neuroshard {

Result<IterationCost> simulate_iteration(const ChosenProfile& chosen, const Workload& workload,
                                         const Plan& plan, const DenseModel& model) {
  NEUROSHARD_RETURN_IF_ERROR(check_simulated(chosen, workload, plan));
  NEUROSHARD_RETURN_IF_ERROR(check_no_hot_rows(plan, "a whole step is not simulated with them"));
  NEUROSHARD_ASSIGN_OR_RETURN(const StepHardware step,
                              step_hardware(chosen, workload, plan.devices, model));
  const PlanLoads loads =
      plan_loads(workload, plan, devices_on_a_host(step.hardware, plan.devices));
  const EmbeddingStep embedding =
      embedding_step(step.hardware, workload, loads, model, step.samples);
  return iteration_cost(step_graph(step, model, embedding, plan.devices, plan.devices));
}

CostError iteration_error(const HardwareProfile& profile) {
  const SourcedValue& error = profile.iteration_error;
  if (error.source.empty()) {
    return {std::nullopt,
            "nobody has held training steps on " + profile.name + " against measurements"};
  }
  return {error.value, "90 % of published training steps are that near: " + error.source};
}

}  // namespace neuroshard
