#pragma once

#include <cstdint>
#include <memory>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/kernel_cost_model.h"

namespace neuroshard {

/// The evaluator of these cost models, networks or a formula, for plans of `workload`, which must
/// outlive it, on `devices` devices, in hosts of `devices_per_host`, with exchanges in `exchange`,
/// as a Cluster says them. Errors: as MlpEvaluator::create(); an exchange that the models know no
/// cost of.
Result<std::unique_ptr<CostEvaluator>> make_evaluator(const CostModels& models,
                                                      const Workload& workload,
                                                      std::int32_t devices,
                                                      std::int32_t devices_per_host = 0,
                                                      const ExchangeFormat& exchange = {});

/// What these cost models have kernels of the workload's tables cost on so many devices, in such
/// hosts and exchanges; it keeps nothing of `models`, and `workload` must outlive it. REQUIRES
/// capabilities(models).host_memory, a valid workload and devices >= 1.
std::unique_ptr<const KernelCostModel> make_kernel_costs(const CostModels& models,
                                                         const Workload& workload,
                                                         std::int32_t devices,
                                                         std::int32_t devices_per_host = 0,
                                                         const ExchangeFormat& exchange = {});

}  // namespace neuroshard
