#include "engine/cost_model/cost_evaluator.h"

#include <utility>

#include "engine/cost_model/mlp_evaluator.h"
#include "engine/cost_model/torchrec_evaluator.h"
#include "nn/isa.h"

namespace neuroshard {

Result<std::unique_ptr<CostEvaluator>> make_evaluator(const CostModels& models,
                                                      const Workload& workload,
                                                      std::int32_t devices) {
  if (models.torchrec) {
    return std::unique_ptr<CostEvaluator>(
        std::make_unique<TorchRecEvaluator>(*models.torchrec, workload, devices));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Isa isa, nn::select_isa());
  NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<MlpEvaluator> evaluator,
                              MlpEvaluator::create(models, workload, devices, isa));
  return std::unique_ptr<CostEvaluator>(std::move(evaluator));
}

}  // namespace neuroshard
