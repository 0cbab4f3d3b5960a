#include "engine/policy/train_policy.h"

#include <memory>

#include "engine/policy/policy_trainer.h"

namespace neuroshard {

Result<PolicyTraining> train_policy(const Workload& pool, const CostModels& models,
                                    const PolicyTrainOptions& options,
                                    const PolicyTrainControl& control, PolicyTrainingState* state) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<PolicyTrainer> trainer,
                              PolicyTrainer::create(pool, options, control));
  NEUROSHARD_RETURN_IF_ERROR(trainer->set_costs(models));
  if (state != nullptr && !state->parameters.empty()) {
    NEUROSHARD_RETURN_IF_ERROR(trainer->set_state(*state));
  }
  NEUROSHARD_RETURN_IF_ERROR(trainer->advance(options.updates));
  if (state != nullptr) *state = trainer->state();
  return trainer->finish();
}

}  // namespace neuroshard
